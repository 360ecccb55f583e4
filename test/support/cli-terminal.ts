import { runCli } from '../../src/cli/run-cli.ts'
import type { CliRun } from './cli-process.ts'
import { TEST_PORTAL_TOKEN } from './service-process.ts'
import type { TestService } from './test-service.ts'

/** The command line inside the test's process: fast, for tests that are not about processes. */
export function cliWith(
  env: Readonly<Record<string, string>>,
  { isTty = false } = {},
): (...args: string[]) => Promise<CliRun> {
  return async (...args) => {
    let [stdout, stderr] = ['', '']
    const code = await runCli(args, {
      env,
      isTty,
      out: (text) => {
        stdout += text
      },
      err: (text) => {
        stderr += text
      },
      readInput: async () => '',
    })
    return {
      code,
      stdout,
      stderr,
      get json() {
        return JSON.parse(stdout)
      },
    }
  }
}

/** The same against the service of the test. */
export function cliOn(service: Pick<TestService, 'url'>, options?: { isTty?: boolean }): ReturnType<typeof cliWith> {
  return cliWith({ NIGHTLEDGER_URL: service.url, PORTAL_TOKEN: TEST_PORTAL_TOKEN }, options)
}
