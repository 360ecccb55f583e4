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
        label="Name"
        isOptional
        hint="Shown on this page instead of the address."
        autocomplete="off"
        maxLength={DESCRIPTION_LENGTH_MAX}
        value={description}
        onChange={onDescription}
        error={problem?.of('description')}
      />
    </>
  )
}

/** Field errors speak of the address. */
function sentence(message: string | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.startsWith('Endpoint address is not'))
    return 'This address is on a private network. Webhooks are sent only to public addresses.'
  return `The address ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}
