import './sign-in.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api/problem.ts'
import { useMutation } from '../data/use-mutation.ts'
import { useResource } from '../data/use-resource.ts'
import { Button, LinkButton } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { ErrorNote, Note } from '../design/feedback.tsx'
import { Mark } from '../design/icon.tsx'
import { TextInput } from '../design/inputs.tsx'
import { setQuery, useRoute } from '../route/router.ts'
import { openSession, readWays, resumeSession, signIn, signInWithPasskey } from './sign-in.ts'

/** What people see first without a session. */
export function SignInScreen() {
  const { query } = useRoute()
  const [refused] = useState(query['refused'])
  useEffect(() => {
    if (refused !== undefined) setQuery({ refused: null }, { replace: true })
  }, [])
  return (
    <Front title="Sign in">
      {refused !== undefined && <RefusedNote reason={refused} />}
      <WaysIn />
    </Front>
  )
}

/** A card in the middle of an empty page. */
export function Front({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · nightledger`
  }, [title])
  return (
    <main class="front">
      <div class="front-brand">
        <Mark size={28} />
        <span>nightledger</span>
      </div>
      <div class="front-card">
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  )
}

/** The identity provider has sent the person back, but they cannot be signed in. */
function RefusedNote({ reason }: { reason: string }) {
  return (
    <Note tone="bad" role="alert">
      {reason === 'unknown'
        ? 'You could not be signed in with this account. Ask an owner of your agency which e-mail address they entered for you.'
        : 'Signing in with the identity provider failed. Try again.'}
    </Note>
  )
}

/** @param props.isAgain what is on the screen must stay, so the identity provider opens in a tab of its own */
function WaysIn({ isAgain = false }: { isAgain?: boolean }) {
  const { data, error } = useResource('sign-in', readWays)
  const [usesToken, setUsesToken] = useState(false)
  // The answer is usually there in a moment. If it fails, the passkey button says why.
  if (data === undefined && error === null) return null
  const isProviderOnly = data?.only === true
  const isForOperator = data?.operator !== false
  if (usesToken)
    return (
      <TokenForm isForOperator={isForOperator} isOperatorOnly={isProviderOnly} onBack={() => setUsesToken(false)} />
    )
  return (
    <div class="ways">
      {!isProviderOnly && <PasskeyButton />}
      {data?.oidc != null && (
        <LinkButton
          href="/portal/oidc/start"
          tone={isProviderOnly ? 'primary' : 'plain'}
          target={isAgain ? '_blank' : undefined}
        >
          Sign in with {data.oidc.name}
          {isAgain && ' in a new tab'}
        </LinkButton>
      )}
      {!isProviderOnly && (
        <p class="front-help">
          No passkey on this device? Use the one on your phone, or ask an owner of your agency for a link.
        </p>
      )}
      {(!isProviderOnly || isForOperator) && (
        <button type="button" class="text-button" onClick={() => setUsesToken(true)}>
          {isProviderOnly ? 'Use the operator’s token instead' : 'Use an access token instead'}
        </button>
      )}
    </div>
  )
}

function PasskeyButton() {
  const { run, isRunning, problem } = useMutation({ send: (_: null) => signInWithPasskey(), report: 'inline' })
  const form = useFocus('button', problem)
  return (
    <form
      ref={form}
      class="ways"
      onSubmit={(event) => {
        event.preventDefault()
        void run(null)
      }}
    >
      <Button type="submit" tone="primary" icon="keys" isBusy={isRunning}>
        Sign in with a passkey
      </Button>
      <ErrorNote problem={problem} />
    </form>
  )
}

/** For programs and the operator. What was pasted stays in the field when it is refused. */
function TokenForm({
  isForOperator,
  isOperatorOnly,
  onBack,
}: {
  isForOperator: boolean
  isOperatorOnly: boolean
  onBack: () => void
}) {
  const [token, setToken] = useState('')
  const [isEmpty, setEmpty] = useState(false)
  const { run, isRunning, problem } = useMutation({
    send: (pasted: string) => signIn({ token: pasted }),
    report: 'inline',
  })
  const form = useFocus('input', problem)
  const submit = () => {
    // Pasted from a terminal or a mail, it often comes with spaces or line ends.
    const pasted = token.replace(/\s+/g, '')
    setEmpty(pasted === '')
    if (pasted !== '') void run(pasted)
  }
  const isWrong = problem?.status === 401
  return (
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
        label={isOperatorOnly ? 'Operator’s token' : 'Access token'}
        hint={
          isOperatorOnly
            ? undefined
            : `For programs${isForOperator ? ' and for the operator of the service' : ''}. People sign in with a passkey.`
        }
        name="token"
        autocomplete="off"
        spellcheck={false}
        isCode
        value={token}
        onChange={setToken}
        error={isEmpty ? 'Paste the token here.' : isWrong ? problem.message : undefined}
      />
      {!isWrong && <ErrorNote problem={problem} />}
      <Button type="submit" tone="primary" isBusy={isRunning}>
        Sign in
      </Button>
      <button type="button" class="text-button" onClick={onBack}>
        {isOperatorOnly ? 'Back' : 'Use a passkey instead'}
      </button>
    </form>
  )
}

/** Focuses a control of the form when it appears, and again when its request has failed: it is disabled while the request runs. */
export function useFocus(selector: string, problem: Problem | null) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector<HTMLElement>(selector)?.focus(), [problem])
  return form
}

/** The session has ended while someone was working: what was typed stays on the screen below. */
export function SignInAgain() {
  useEffect(() => {
    const resume = () => void resumeSession()
    addEventListener('focus', resume)
    return () => removeEventListener('focus', resume)
  }, [])
  return (
    <Dialog title="Your session has ended" width="s">
      <p>Sign in again to continue where you left off.</p>
      <WaysIn isAgain />
    </Dialog>
  )
}

/** The page was opened while the service does not answer. It continues by itself once it does. */
export function Unreachable({ problem }: { problem: Problem }) {
  return (
    <Front title="The service is not responding">
      <ErrorNote problem={problem} onRetry={openSession} />
    </Front>
  )
}
