import { reasonOf } from '../../lib/reason-of.ts'
import { type Check, ok, skipped, warning } from './check.ts'

const ANSWER_MS_MAX = 4_000

/** Whether PUBLIC_URL leads to the service. */
export const publicUrl: Check = {
  name: 'public-url',
  run: async ({ config: { publicUrl, environment } }) => {
    if (publicUrl === null)
      return environment === 'production'
        ? [
            warning(
              'PUBLIC_URL is not set: links for people begin with http://localhost, and passkeys work only there.',
              'Set PUBLIC_URL to the https origin of the page, such as https://bookings.example.com.',
            ),
          ]
        : [skipped('PUBLIC_URL is not set.')]
    const proxy = `Check the proxy in front of the service and its certificate: \`curl -i ${publicUrl}/partner/v1/openapi.json\`. If a private CA issued the certificate, NODE_EXTRA_CA_CERTS must name the CA's PEM file.`
    try {
      const { status } = await fetch(`${publicUrl}/partner/v1/openapi.json`, {
        redirect: 'manual',
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      if (status === 200) return [ok(`${publicUrl} leads to the service.`)]
      return [
        warning(`${publicUrl} does not lead to the service: it answers ${status} to /partner/v1/openapi.json.`, proxy),
      ]
    } catch (error) {
      return [warning(`${publicUrl} cannot be reached from here: ${reasonOf(error)}`, proxy)]
    }
  },
}
