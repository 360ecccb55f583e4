import { answerOf, client } from '../api/client.ts'
import type { Schema } from '../api/schema.ts'
import { useResource } from '../data/use-resource.ts'
import { useSession } from '../data/use-session.ts'

export type Endpoint = Schema<'WebhookEndpoint'>

/** More than an agency can have. */
const ENDPOINTS_MAX = 200

export function useEndpoints() {
  const { path } = useSession()
  return useResource('webhooks', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/webhook-endpoints', {
        params: { path, query: { pageSize: ENDPOINTS_MAX } },
        signal,
      }),
    ),
  )
}

/** What people call it: its description, or where it is. */
export function endpointName({ description, url }: Pick<Endpoint, 'description' | 'url'>): string {
  return description !== null && description.trim() !== '' ? description : hostOf(url)
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}
