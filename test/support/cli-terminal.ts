import { runCli } from '../../src/cli/run-cli.ts'
import type { CliRun } from './cli-process.ts'
import { TEST_PORTAL_TOKEN } from './service-process.ts'
import type { TestService } from './test-service.ts'

/** The command line inside the test's process, against the service of the test: fast, for tests that are not about processes. */
export function cliOn(
  service: Pick<TestService, 'url'>,
  { isTty = false } = {},
): (...args: string[]) => Promise<CliRun> {
  return async (...args) => {
    let [stdout, stderr] = ['', '']
    const code = await runCli(args, {
      env: { NIGHTLEDGER_URL: service.url, PORTAL_TOKEN: TEST_PORTAL_TOKEN },
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
