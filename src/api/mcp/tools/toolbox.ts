import type { Tool as McpTool } from '@modelcontextprotocol/server'
import type { Scope } from '../../../core/catalogue/agency.ts'
import { GET_AVAILABILITY, GET_CALENDAR } from './calendar-tools.ts'
import { LIST_BOOKINGS, LIST_UNITS } from './list-tools.ts'
import { QUOTE_STAY, SEARCH_STAYS } from './stay-tools.ts'
import type { Tool } from './tool.ts'

/**
 * Every tool, in the order in which they are listed: the contract's (docs/contract.md#tool-endpoint), then those that were added
 * (docs/partner-additions.md#6-tools). It has no write tools.
 */
export const TOOLS: readonly Tool[] = [
  LIST_UNITS,
  GET_AVAILABILITY,
  QUOTE_STAY,
  LIST_BOOKINGS,
  GET_CALENDAR,
  SEARCH_STAYS,
]

/** Null for a name that no tool has. */
export function toolNamed(name: string): Tool | null {
  return TOOLS.find((tool) => tool.name === name) ?? null
}

/** The definitions of the tools that a key with these scopes may call, in fixed order. */
export function toolsFor(scopes: readonly Scope[]): McpTool[] {
  return TOOLS.filter(({ scope }) => scopes.includes(scope)).map(({ definition }) => definition)
}
