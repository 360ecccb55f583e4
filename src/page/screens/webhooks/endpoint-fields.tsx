import type { Problem } from '../../api/problem.ts'
import { TextInput } from '../../design/inputs.tsx'

const DESCRIPTION_LENGTH_MAX = 255

/** The address, and what people call it. */
export function EndpointFields({
  url,
  description,
  onUrl,
  onDescription,
  problem,
}: {
  url: string
  description: string
  onUrl: (url: string) => void
  onDescription: (description: string) => void
  problem: Problem | null
}) {
  return (
    <>
      <TextInput
        label="Address"
        type="url"
        placeholder="https://"
        hint="It must begin with https:// and be reachable from the internet."
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={url}
        onChange={onUrl}
        error={sentence(problem?.of('url'))}
      />
      <TextInput
        label="What it is"
        isOptional
        hint="Such as the name of the system: it is called by it on this page."
        autocomplete="off"
        maxLength={DESCRIPTION_LENGTH_MAX}
        value={description}
        onChange={onDescription}
        error={problem?.of('description')}
      />
    </>
  )
}

/** The service's words for a program, as a sentence for people. */
function sentence(message: string | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.startsWith('endpoint address is not'))
    return 'This address leads to a private network, where nothing is sent.'
  return message.startsWith('url ') ? `The address ${message.slice(4)}.` : `The address ${message}.`
}
