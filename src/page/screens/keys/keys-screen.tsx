import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { EmptyState, LoadStatus } from '../../design/feedback.tsx'
import { Checkbox } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { realTime } from '../../lib/present.ts'
import { setQuery, useRoute } from '../../route/router.ts'
import { type Key, KeyTable, keyName, keyState } from './key-table.tsx'
import { NewKey } from './new-key.tsx'

const KEYS_MAX = 200

/** The keys that partners call the API with. */
export function KeysScreen() {
  const { agency, path, may } = useSession()
  const { query } = useRoute()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const { data, error, refresh } = useResource('keys', (signal) =>
    answerOf(
      client.GET('/portal/v1/agencies/{agencySlug}/keys', {
        params: { path, query: { pageSize: KEYS_MAX } },
        signal,
      }),
    ),
  )
  const showsAll = query['all'] === 'true'
  const isOwner = may('owner')
  const now = realTime()
  // The service lists the oldest first.
  const keys = data?.keys.toReversed() ?? []
  const ended = keys.filter((key) => keyState(key, now) !== 'active')
  const create = isOwner && (
    <Button tone="primary" icon="plus" onClick={() => setCreating(true)}>
      Create key
    </Button>
  )
  return (
    <>
      <PageHeader
        title="API keys"
        description="Give each partner a key of their own, so that it can be limited or revoked without affecting the others."
        actions={
          agency.sandboxOf === null ? (
            create
          ) : (
            <>
              <LinkButton href="/docs" icon="external">
                Try a key
              </LinkButton>
              {create}
            </>
          )
        }
      />
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && (
        <Card isFlush>
          {keys.length === 0 ? (
            <EmptyState icon="keys" title="No API keys yet" action={create}>
              {isOwner
                ? 'Create the first one for your website or a partner. They use it to read availability and to book.'
                : 'An owner of the agency can create one.'}
            </EmptyState>
          ) : (
            <KeyTable
              keys={showsAll ? keys : keys.filter((key) => !ended.includes(key))}
              now={now}
              onRevoke={isOwner ? setRevoking : undefined}
            />
          )}
        </Card>
      )}
      {ended.length > 0 && (
        <Checkbox
          label={`Show revoked and expired keys (${ended.length})`}
          isChecked={showsAll}
          onChange={(isChecked) => setQuery({ all: isChecked ? true : null }, { replace: true })}
        />
      )}
      {isCreating && <NewKey onClose={() => setCreating(false)} />}
      {revoking !== null && <RevokeKey apiKey={revoking} onClose={() => setRevoking(null)} />}
    </>
  )
}

/** Asks before a key is closed for good. */
function RevokeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { path } = useSession()
  const { run, isRunning, problem } = useMutation({
    send: (keyId: string, header) =>
      answerOf(
        client.DELETE('/portal/v1/agencies/{agencySlug}/keys/{keyId}', {
          params: { path: { ...path, keyId }, header },
        }),
      ),
    invalidates: ['keys'],
    onDone: () => {
      toast({ tone: 'good', text: `${keyName(apiKey)} has been revoked` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Revoke ${keyName(apiKey)}?`}
      action="Revoke key"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(apiKey.id)}
      onClose={onClose}
    >
      <p>Requests with this key are refused immediately. A revoked key cannot be restored.</p>
    </ConfirmDialog>
  )
}
