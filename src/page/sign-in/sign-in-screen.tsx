import './sign-in.css'
import type { ComponentChildren } from 'preact'
import { Mark } from '../design/icon.tsx'
import { TokenForm } from './token-form.tsx'

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
