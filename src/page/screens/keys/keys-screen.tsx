import { PageHeader } from '../../design/card.tsx'
import { EmptyState } from '../../design/feedback.tsx'

export function KeysScreen() {
  return (
    <>
      <PageHeader title="API keys" />
      <EmptyState title="Nothing here yet" />
    </>
  )
}
