import './audit.css'
import { PageHeader, Tabs, useTab } from '../../design/card.tsx'
import { AuditTrail } from './audit-trail.tsx'
import { Usage } from './usage.tsx'

const TABS = [
  { key: 'trail', label: 'Who did what' },
  { key: 'usage', label: 'API usage' },
]

export function AuditScreen() {
  const tab = useTab(TABS)
  return (
    <>
      <PageHeader title="Audit and usage" />
      <Tabs label="Audit and usage" tabs={TABS} />
      {tab === 'usage' ? <Usage /> : <AuditTrail />}
    </>
  )
}
