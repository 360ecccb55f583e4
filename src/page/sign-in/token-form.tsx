import { useState } from 'preact/hooks'
import { type Problem, problemOf } from '../api/problem.ts'
import { Button } from '../design/button.tsx'
import { ErrorNote } from '../design/feedback.tsx'
import { TextInput } from '../design/inputs.tsx'
import { signIn } from '../session/sign-in.ts'

/** Asks for an access token. What was pasted stays when it is refused. */
export function TokenForm() {
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
