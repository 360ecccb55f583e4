import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { When } from '../../data/when.tsx'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { LoadStatus, Note } from '../../design/feedback.tsx'
import { Menu } from '../../design/menu.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { deviceText } from '../../format/device-text.ts'
import { createPasskey, passkeyObstacle } from '../../sign-in/passkey.ts'
import { readWays } from '../../sign-in/sign-in.ts'
import { NameDialog } from './name-dialog.tsx'

type Passkey = Schema<'Passkey'>
type Doing = { readonly what: 'rename' | 'remove'; readonly passkey: Passkey } | { readonly what: 'add' } | null

/** The passkeys of the person who is signed in. */
export function PasskeysCard() {
  const [doing, setDoing] = useState<Doing>(null)
  const { data, error, refresh } = useResource('passkeys', (signal) =>
    answerOf(client.GET('/portal/v1/me/passkeys', { signal })),
  )
  // Where the identity provider is the only way to sign in, another passkey would be refused.
  const { data: ways } = useResource('sign-in', readWays)
  const isLast = data?.passkeys.length === 1
  const columns: Column<Passkey>[] = [
    { key: 'name', head: 'Device', cell: ({ name }) => name },
    { key: 'used', head: 'Last used', cell: ({ lastUsedAt }) => <When instant={lastUsedAt} /> },
    { key: 'created', head: 'Added', isMinor: true, cell: ({ createdAt }) => <When instant={createdAt} /> },
    {
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: (passkey) => (
        <Menu
          label={`Actions for ${passkey.name}`}
          items={[
            { label: 'Rename', icon: 'edit', onSelect: () => setDoing({ what: 'rename', passkey }) },
            {
              label: !isLast
                ? 'Remove'
                : ways?.only === true
                  ? 'Remove (the last one stays)'
                  : 'Remove (add another first)',
              icon: 'close',
              isDanger: true,
              disabled: isLast,
              onSelect: () => setDoing({ what: 'remove', passkey }),
            },
          ]}
        />
      ),
    },
  ]
  const close = () => setDoing(null)
  return (
    <Card
      title="Passkeys"
      isFlush
      aside={
        ways?.only !== true && (
          <Button size="s" icon="plus" onClick={() => setDoing({ what: 'add' })}>
            Add passkey
          </Button>
        )
      }
    >
      <LoadStatus of={{ data, error, refresh }} lines={2} />
      {data !== undefined && (
        <Table caption="Passkeys" columns={columns} rows={data.passkeys} rowKey={({ id }) => id} />
      )}
      {doing?.what === 'add' && <AddPasskey onClose={close} />}
      {doing?.what === 'rename' && <RenamePasskey passkey={doing.passkey} onClose={close} />}
      {doing?.what === 'remove' && <RemovePasskey passkey={doing.passkey} onClose={close} />}
    </Card>
  )
}

/** Has the browser create another passkey, on this device or another. */
function AddPasskey({ onClose }: { onClose: () => void }) {
  const { run, isRunning, problem } = useMutation({
    send: async (name: string, header) => {
      const { options } = await answerOf(client.POST('/portal/v1/me/passkeys/options'))
      const passkey = await createPasskey(options)
      return answerOf(client.POST('/portal/v1/me/passkeys', { params: { header }, body: { name, passkey } }))
    },
    invalidates: ['passkeys'],
    onDone: (_, name) => {
      toast({ tone: 'good', text: `The passkey ${name} has been added` })
      onClose()
    },
    report: 'inline',
  })
  const obstacle = passkeyObstacle()
  return (
    <NameDialog
      title="Add passkey"
      action="Create passkey"
      before={deviceText(navigator.userAgent)}
      isBusy={isRunning}
      problem={problem}
      isDisabled={obstacle !== null}
      onSave={(name) => void run(name)}
      onClose={onClose}
    >
      {obstacle === null ? (
        <p>
          Your browser asks where to keep the passkey: on this device, on your phone or tablet, or on a security key.
          Enter a name for the device that you choose.
        </p>
      ) : (
        <Note tone="warn">{obstacle}</Note>
      )}
    </NameDialog>
  )
}

function RenamePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const { run, isRunning, problem } = useMutation({
    send: (name: string, header) =>
      answerOf(
        client.PATCH('/portal/v1/me/passkeys/{passkeyId}', {
          params: { path: { passkeyId: passkey.id }, header },
          body: { name },
        }),
      ),
    invalidates: ['passkeys'],
    onDone: onClose,
    report: 'inline',
  })
  return (
    <NameDialog
      title="Rename passkey"
      action="Save"
      before={passkey.name}
      isBusy={isRunning}
      problem={problem}
      onSave={(name) => void run(name)}
      onClose={onClose}
    />
  )
}

function RemovePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const { run, isRunning, problem } = useMutation({
    send: (passkeyId: string, header) =>
      answerOf(client.DELETE('/portal/v1/me/passkeys/{passkeyId}', { params: { path: { passkeyId }, header } })),
    invalidates: ['passkeys'],
    onDone: () => {
      toast({ tone: 'good', text: `The passkey ${passkey.name} has been removed` })
      onClose()
    },
    report: 'inline',
  })
  return (
    <ConfirmDialog
      title={`Remove the passkey ${passkey.name}?`}
      action="Remove passkey"
      isBusy={isRunning}
      problem={problem}
      onConfirm={() => void run(passkey.id)}
      onClose={onClose}
    >
      <p>
        You can no longer sign in here with this passkey. Your device may still offer it until you delete it there, too.
        If you have lost the device, also end its sessions below.
      </p>
    </ConfirmDialog>
  )
}
