import { useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { EndpointList } from './endpoint-list.tsx'
import { EndpointPage } from './endpoint-page.tsx'

const LIVE = ['webhooks']

/** `#/webhooks` lists, `#/webhooks/whe_…` shows one. */
export function WebhooksScreen() {
  const { path } = useRoute()
  useLiveStays(LIVE)
  const id = path[1]
  return id === undefined ? <EndpointList /> : <EndpointPage key={id} endpointId={id} />
}
