import { useRoute } from '../../route/router.ts'
import { EndpointList } from './endpoint-list.tsx'
import { EndpointPage } from './endpoint-page.tsx'

/** `#/webhooks` lists, `#/webhooks/whe_…` shows one. */
export function WebhooksScreen() {
  const { path } = useRoute()
  const id = path[1]
  return id === undefined ? <EndpointList /> : <EndpointPage key={id} endpointId={id} />
}
