import { Dialog } from '../design/dialog.tsx'
import { TokenForm } from './token-form.tsx'

/** The session has ended while someone was working: what was typed stays on the screen below. */
export function SignInAgain() {
  return (
    <Dialog title="Your session has ended" width="s">
      <p>Sign in again to continue where you left off.</p>
      <TokenForm />
    </Dialog>
  )
}
