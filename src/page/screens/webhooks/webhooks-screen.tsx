import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function WebhooksScreen() {
  return (
    <>
      <PageHeader title="Webhooks" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
