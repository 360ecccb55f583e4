import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'

const SAID_MS = 2_000

/** Copies a text and says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SAID_MS)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <Button
      tone="quiet"
      size="s"
      icon={state === 'copied' ? 'check' : 'copy'}
      aria-label={state === 'idle' ? label : undefined}
      onClick={async ({ currentTarget }) => setState((await copied(text, currentTarget)) ? 'copied' : 'failed')}
    >
      <span aria-live="polite">{state === 'idle' ? 'Copy' : state === 'copied' ? 'Copied' : 'Select and copy it'}</span>
    </Button>
  )
}

/** `navigator.clipboard` is missing where the page is read over plain HTTP. @param near in the dialog that is open, if one is */
async function copied(text: string, near: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    field.className = 'visually-hidden'
    near.after(field)
    field.select()
    const isCopied = document.execCommand('copy')
    field.remove()
    return isCopied
  }
}
