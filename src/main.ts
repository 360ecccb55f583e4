/** The process: what its arguments ask for. */
import { SEND_WEBHOOKS, sendWebhooks } from './app/send-webhooks.ts'
import { SERVE_AS_WORKER } from './app/worker-processes.ts'
import { RUN_VERIFICATION } from './verify/verification-process.ts'

/** `serve --take-over`: does not wait for the present writer. */
const TAKE_OVER = '--take-over'

const [command, ...rest] = process.argv.slice(2)

if (command === SEND_WEBHOOKS) sendWebhooks()
else if (command === RUN_VERIFICATION) {
  const { runVerification } = await import('./app/run-verification.ts')
  runVerification()
} else if (command === SERVE_AS_WORKER) {
  const { serveUnderParent } = await import('./app/serve-under-parent.ts')
  serveUnderParent()
} else if (command !== undefined && command !== 'serve') {
  const { runCli } = await import('./cli/run-cli.ts')
  const { processTerminal } = await import('./cli/terminal.ts')
  process.exitCode = await runCli([command, ...rest], processTerminal)
} else {
  // Loaded only here: the sender has no use for the surfaces.
  const { serve } = await import('./app/serve.ts')
  const unknown = rest.find((arg) => arg !== TAKE_OVER)
  if (unknown === undefined) await serve(process.env, { takesOver: rest.includes(TAKE_OVER) })
  else {
    console.error(`Cannot start: unknown option ${unknown}. The only one is ${TAKE_OVER}.`)
    process.exitCode = 2
  }
}
