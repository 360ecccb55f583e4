/** The process: what its arguments ask for. */
import { SEND_WEBHOOKS, sendWebhooks } from './send-webhooks.ts'

if (process.argv[2] === SEND_WEBHOOKS) await sendWebhooks()
else {
  // Loaded only here: the sender has no use for the surfaces.
  const { serve } = await import('./serve.ts')
  await serve(process.env)
}
