import './units.css'
import { useEffect, useRef } from 'preact/hooks'
import { useRoute } from '../../route/router.ts'
import { useLiveStays } from '../../stays/live-stays.ts'
import { UnitList } from './unit-list.tsx'
import { UnitPage } from './unit-page.tsx'

const LIVE = ['units']
const LIVE_EVENTS = ['unit.', 'rates.']

/** The list of units, or one of them: `#/units/sea-view`. */
export function UnitsScreen() {
  useLiveStays(LIVE, LIVE_EVENTS)
  const { path } = useRoute()
  const slug = path[1]
  const last = useRef(slug)
  useEffect(() => {
    if (last.current === slug) return
    last.current = slug
    scrollTo(0, 0)
    // A screen reader goes on at the name of what is shown now.
    document.querySelector<HTMLElement>('main h1')?.focus()
  }, [slug])
  return slug === undefined ? <UnitList /> : <UnitPage key={slug} slug={slug} />
}
