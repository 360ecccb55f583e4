import { useEffect, useRef, useState } from 'preact/hooks'
import { setQuery } from '../route/router.ts'
import { TextInput } from './inputs.tsx'

/** Between the last letter and the search. */
const TYPING_MS = 250

/** What a list is searched for, kept in the address as `search`. A new search shows the first page. */
export function SearchInput({ search, placeholder }: { search: string; placeholder: string }) {
  const [typed, setTyped] = useState(search)
  const sent = useRef(search)
  useEffect(() => {
    // The address has changed otherwise: cleared, or gone back to.
    if (search === sent.current) return
    sent.current = search
    setTyped(search)
  }, [search])
  useEffect(() => {
    const text = typed.trim()
    if (text === sent.current) return
    const timer = setTimeout(() => {
      sent.current = text
      setQuery({ search: text === '' ? null : text, page: null }, { replace: true })
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <TextInput
      label="Search"
      type="search"
      placeholder={placeholder}
      value={typed}
      onChange={setTyped}
      autocomplete="off"
      spellcheck={false}
    />
  )
}
