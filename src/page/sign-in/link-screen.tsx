/** What a link opens: an invitation, a session, or a choice of agencies. */
import { useEffect, useId, useState } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { Problem, problemOf } from '../api/problem.ts'
import type { Schema } from '../api/schema.ts'
import { session } from '../api/session.ts'
import { Resource } from '../data/resources.ts'
import { useMutation } from '../data/use-mutation.ts'
import { roleLabel } from '../data/use-session.ts'
import { Button } from '../design/button.tsx'
import { ErrorNote, LoadStatus, Note, Skeleton } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { TextInput } from '../design/inputs.tsx'
import { deviceText } from '../format/device-text.ts'
import { nameText } from '../format/texts.ts'
import { useStore } from '../lib/hooks.ts'
import { openedLink } from './opened-link.ts'
import { createPasskey, passkeyObstacle } from './passkey.ts'
import { signIn } from './sign-in.ts'
import { Front, useFocus } from './sign-in-screen.tsx'

interface Link extends Schema<'OpenedLink'> {
  readonly secret: string
}

/** Null: the link is no longer valid. @throws Problem when the service does not answer */
async function readLink(secret: string, signal?: AbortSignal): Promise<Link | null> {
  try {
    const body = { link: secret }
    return {
      secret,
      ...(await answerOf(client.POST('/portal/links', signal === undefined ? { body } : { body, signal }))),
    }
  } catch (error) {
    if (error instanceof Problem && error.code === 'LINK_NOT_VALID') return null
    throw error
  }
}

/** Continues with the session that the browser has, or with the sign-in screen. */
const leave = () => openedLink.set(null)

export function LinkScreen({ secrets }: { secrets: readonly string[] }) {
  // Not one of the session's: those are read again when somebody has signed in, and the link is used up then.
  const [read] = useState(() => new Resource<readonly (Link | null)[]>())
  useEffect(() => read.watch((signal) => Promise.all(secrets.map((secret) => readLink(secret, signal)))), [read])
  const { data, error } = useStore(read)
  if (data === undefined) {
    return (
      <Front title="Opening your link">
        <LoadStatus of={{ data, error, refresh: () => read.refresh() }} lines={2} />
        {error !== null && <Button onClick={leave}>Go to sign-in</Button>}
      </Front>
    )
  }
  const links = data.filter((link) => link !== null)
  const [first] = links
  if (first === undefined) return <LinkNotValid secret={secrets[0]} />
  if (links.length > 1) return <LinkChoice links={links} />
  return first.kind === 'invitation' ? <Invitation link={first} /> : <SignInByLink link={first} />
}

/** Links from the identity provider: valid for a minute, in one browser. */
const BOUND_PREFIX = 'hb_'

/** @param props.isUnanswered a passkey was sent with the link, and it is not known what became of that */
function LinkNotValid({ secret, isUnanswered = false }: { secret: string | undefined; isUnanswered?: boolean }) {
  return (
    <Front title="This link is no longer valid">
      {secret?.startsWith(BOUND_PREFIX) === true ? (
        <p>It works for one minute, once, and only in the browser in which you signed in. Sign in again.</p>
      ) : isUnanswered ? (
        <p>
          You have probably just used it, although the answer did not arrive. Sign in with the passkey that you have
          just created. If that is refused, ask an owner of your agency for another link.
        </p>
      ) : (
        <p>It may have been used or replaced, or have expired. Ask an owner of your agency for another link.</p>
      )}
      <div class="ways">
        <Button tone="primary" autofocus onClick={leave}>
          Go to sign-in
        </Button>
      </div>
    </Front>
  )
}

/** Welcomes the person, has them create a passkey, and signs them in with it. */
function Invitation({ link: { secret, agency, person } }: { link: Link }) {
  const [device, setDevice] = useState(() => deviceText(navigator.userAgent))
  const [isSubmitted, setSubmitted] = useState(false)
  const [isGone, setGone] = useState(false)
  const [isUnanswered, setUnanswered] = useState(false)
  const { run, isRunning, problem } = useMutation({
    send: async (name: string) => {
      // The challenge is valid for a few minutes only, and the link may have been open for longer.
      const options = (await readLink(secret))?.options ?? null
      if (options === null) return setGone(true)
      const passkey = await createPasskey(options)
      try {
        await signIn({ link: secret, passkey, name })
      } catch (error) {
        const { status } = problemOf(error)
        setUnanswered(status === 0 || status >= 500)
        throw error
      }
      leave()
    },
    report: 'inline',
  })
  const form = useFocus('button[type=submit]', problem)
  const explanation = useId()
  const obstacle = passkeyObstacle()
  if (isGone) return <LinkNotValid secret={secret} isUnanswered={isUnanswered} />
  const submit = () => {
    setSubmitted(true)
    if (device.trim() !== '') void run(device.trim())
  }
  const nameError = isSubmitted && device.trim() === '' ? 'Enter a name for this device.' : problem?.of('name')
  return (
    <Front title={`Welcome, ${nameText(person.name)}`}>
      <p>
        You have been invited to <strong>{nameText(agency.name)}</strong> with the role {roleLabel(person.role)}.
      </p>
      <p class="muted" id={explanation}>
        You sign in with a passkey instead of a password. This device keeps it, and you confirm it the way you unlock
        the device: with your fingerprint, your face or a PIN.
      </p>
      {obstacle === null ? (
        <form
          ref={form}
          class="form"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            submit()
          }}
        >
          <TextInput
            label="Name of this device"
            hint="Helps you tell your passkeys apart."
            autocomplete="off"
            value={device}
            onChange={setDevice}
            error={nameError}
          />
          <ErrorNote problem={problem?.of('name') === undefined ? problem : null} />
          <div class="ways">
            <Button type="submit" tone="primary" icon="keys" aria-describedby={explanation} isBusy={isRunning}>
              Create passkey and sign in
            </Button>
          </div>
        </form>
      ) : (
        <Note tone="warn">{obstacle} Then open the link again.</Note>
      )}
      <PresentSession />
    </Front>
  )
}

/** Signs in immediately, unless the browser has a session: nobody should start working as somebody else without noticing. */
function SignInByLink({ link: { secret, agency, person } }: { link: Link }) {
  const { kind } = useStore(session)
  const { run, isRunning, problem } = useMutation({
    send: async (link: string) => {
      await signIn({ link })
      leave()
    },
    report: 'inline',
  })
  const isFree = kind === 'signed_out'
  useEffect(() => {
    if (isFree) void run(secret)
  }, [isFree])
  if (problem?.code === 'LINK_NOT_VALID') return <LinkNotValid secret={secret} />
  const isWaiting = kind === 'opening' || (problem === null && (isFree || isRunning))
  return (
    <Front title={isWaiting ? 'Signing you in' : `Sign in as ${nameText(person.name)}?`}>
      {isWaiting ? (
        <Skeleton lines={2} />
      ) : (
        <>
          <p>
            This link signs you in to <strong>{nameText(agency.name)}</strong> as {nameText(person.name)}.
          </p>
          <ErrorNote problem={problem} />
          <div class="ways">
            <Button tone="primary" autofocus isBusy={isRunning} onClick={() => void run(secret)}>
              Sign in as {nameText(person.name)}
            </Button>
          </div>
          <PresentSession />
        </>
      )}
    </Front>
  )
}

/** Warns that the link ends the browser's current session, and offers to keep that. */
function PresentSession() {
  const state = useStore(session)
  if (state.kind !== 'signed_in' && state.kind !== 'choosing') return null
  const name = state.actor.name === null ? 'the operator' : nameText(state.actor.name)
  return (
    <div class="ways">
      <p class="front-help">You are signed in as {name}. If you continue, you will be signed out.</p>
      <Button tone="quiet" onClick={leave}>
        Stay signed in as {name}
      </Button>
    </div>
  )
}

/** The e-mail address belongs to people of several agencies. */
function LinkChoice({ links }: { links: readonly Link[] }) {
  const { run, isRunning, problem } = useMutation({
    send: async (link: string) => {
      await signIn({ link })
      leave()
    },
    report: 'inline',
  })
  if (problem?.code === 'LINK_NOT_VALID') return <LinkNotValid secret={links[0]?.secret} />
  return (
    <Front title="Choose an agency">
      <p>You have access to several agencies. Which one do you want to open?</p>
      <ErrorNote problem={problem} />
      {problem !== null && <Button onClick={leave}>Go to sign-in</Button>}
      <ul class="choice-list">
        {links.map(({ secret, agency, person }) => (
          <li key={secret}>
            <button type="button" class="choice" disabled={isRunning} onClick={() => void run(secret)}>
              <span>
                <span class="choice-name">{nameText(agency.name)}</span>{' '}
                <span class="muted">
                  {agency.slug}: {nameText(person.name)}, {roleLabel(person.role)}
                </span>
              </span>
              <span class="choice-end">
                <Icon name="right" />
              </span>
            </button>
          </li>
        ))}
      </ul>
      <PresentSession />
    </Front>
  )
}
