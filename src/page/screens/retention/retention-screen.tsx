import './retention.css'
import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card, PageHeader } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { ErrorNote, LoadStatus, Note, RoleNote } from '../../design/feedback.tsx'
import { NumberInput } from '../../design/inputs.tsx'
import { toast } from '../../design/toast.tsx'
import { type Draft, errorOf, ownOf, SETTINGS, shortenedIn } from './retention-words.ts'

type Answer = Schema<'RetentionSettings'>

/** How long the agency keeps what, and why. */
export function RetentionScreen() {
  const { path, may } = useSession()
  const { data, error, refresh } = useResource('retention', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/retention', { params: { path }, signal })),
  )
  return (
    <>
      <PageHeader
        title="Data retention"
        description="How long bookings, guests and history are kept. Once a day the service removes what is older."
      />
      <LoadStatus of={{ data, error, refresh }} />
      {data !== undefined && (
        <div class="retention">
          {!may('owner') && <RoleNote>You can view this, but changing it needs the role Owner.</RoleNote>}
          {/* What is typed survives a reload, and is reset once it is saved. */}
          <Settings key={JSON.stringify(data.retention)} settings={data} mayChange={may('owner')} />
          <Note>
            The reasons given are where the defaults come from. They are not legal advice: which law applies to you, and
            when a period begins, may differ. A guest can be kept longer, for example during a dispute: edit the contact
            details and mark the guest as kept.
          </Note>
        </div>
      )}
    </>
  )
}

function Settings({ settings, mayChange }: { settings: Answer; mayChange: boolean }) {
  const { path } = useSession()
  const { retention, defaults } = settings
  const [draft, setDraft] = useState<Draft>(retention)
  const [isConfirming, setConfirming] = useState(false)
  const { run, isRunning, problem } = useMutation({
    send: (body: Partial<Answer['retention']>, header) =>
      answerOf(client.PUT('/portal/v1/agencies/{agencySlug}/retention', { params: { path, header }, body })),
    invalidates: ['retention', 'audit'],
    report: 'inline',
    onDone: () => {
      setConfirming(false)
      toast({ tone: 'good', text: 'Data retention has been saved' })
    },
  })
  const isValid = SETTINGS.every((setting) => errorOf(setting, draft[setting.name]) === undefined)
  const isChanged = SETTINGS.some(({ name }) => draft[name] !== retention[name])
  const isDefault = SETTINGS.every(({ name }) => draft[name] === defaults[name])
  const complete = draft as Answer['retention']
  const shortened = isValid ? shortenedIn(complete, retention) : []
  const save = () => void run(ownOf(complete, defaults))
  return (
    <>
      {SETTINGS.map((setting) => {
        const { name, title, label, unit, min, max, what, why } = setting
        return (
          <Card
            key={name}
            title={title}
            aside={draft[name] === defaults[name] ? <Badge>Default</Badge> : `Default: ${defaults[name]} ${unit}`}
          >
            <div class="retention-setting">
              <div class="retention-texts">
                <p>{what}</p>
                <p class="retention-why">{why}</p>
              </div>
              {mayChange ? (
                <NumberInput
                  label={label}
                  suffix={unit}
                  min={min}
                  max={max}
                  step={1}
                  value={draft[name]}
                  onChange={(value) => setDraft({ ...draft, [name]: value })}
                  error={errorOf(setting, draft[name]) ?? problem?.of(name)}
                />
              ) : (
                <p class="retention-value">
                  {retention[name]} {unit}
                </p>
              )}
            </div>
          </Card>
        )
      })}
      <Card title="Answers to repeated requests">
        <div class="retention-setting">
          <div class="retention-texts">
            <p>A partner that repeats a request with the same key gets the first answer again.</p>
            <p class="retention-why">Partners rely on this time. It cannot be changed.</p>
          </div>
          <p class="retention-value">{retention.idempotencyHours} hours</p>
        </div>
      </Card>
      {mayChange && (
        <div class="retention-actions">
          <Button
            tone="primary"
            isBusy={isRunning}
            disabled={!isValid || !isChanged}
            onClick={() => (shortened.length > 0 ? setConfirming(true) : save())}
          >
            Save
          </Button>
          <Button disabled={isDefault} onClick={() => setDraft(defaults)}>
            Use the defaults
          </Button>
        </div>
      )}
      {!isConfirming && <ErrorNote problem={(problem?.fields.length ?? 0) > 0 ? null : problem} />}
      {isConfirming && (
        <ConfirmDialog
          title="Keep data for a shorter time?"
          action="Keep for a shorter time"
          isBusy={isRunning}
          problem={problem}
          onConfirm={save}
          onClose={() => setConfirming(false)}
        >
          <p>Within a day, everything that is older is removed. It cannot be recovered.</p>
          <ul>
            {shortened.map(({ name, title, unit }) => (
              <li key={name}>
                {title}: {draft[name]} instead of {retention[name]} {unit}
              </li>
            ))}
          </ul>
        </ConfirmDialog>
      )}
    </>
  )
}
