import './sign-in.css'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Problem, problemOf } from '../api/problem.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { ErrorNote } from '../design/feedback.tsx'
import { Mark } from '../design/icon.tsx'
import { TextInput } from '../design/inputs.tsx'
import { openSession, signIn } from './sign-in.ts'

/** The first thing one sees without a session. */
export function SignInScreen() {
  return (
    <Front title="Sign in">
      <TokenForm />
      <p class="front-help">
        Ask an owner of your agency for an access token. The operator signs in with the portal token.
      </p>
    </Front>
  )
}

/** A card in the middle of an empty page. */
export function Front({ title, children }: { title: string; children: ComponentChildren }) {
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

/** Asks for an access token. What was pasted stays when it is refused. */
function TokenForm() {
  const [token, setToken] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [hint, setHint] = useState<string | undefined>(undefined)

  const submit = async () => {
    // Pasted from a terminal or a mail, it often comes with spaces or line ends.
    const pasted = token.replace(/\s+/g, '')
    setProblem(null)
    setHint(pasted === '' ? 'Paste the token here.' : undefined)
    if (pasted === '') return
    setBusy(true)
    try {
      await signIn(pasted)
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      setBusy(false)
    }
  }
  const isWrong = problem?.status === 401
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <TextInput
        label="Access token"
        type="password"
        name="token"
        autocomplete="current-password"
        spellcheck={false}
        autofocus
        isCode
        value={token}
        onChange={setToken}
        error={isWrong ? problem.message : hint}
      />
      {!isWrong && <ErrorNote problem={problem} />}
      <Button type="submit" tone="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  )
}

/** The session has ended while someone was working: what was typed stays on the screen below. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" width="s">
      <p>Sign in again to continue where you left off.</p>
      <TokenForm />
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
