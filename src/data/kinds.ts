import { type TArray, type TOptional, Type } from 'typebox'
import type { EventSource } from '#ecosystem/event-source.ts'
import { burns } from './burns/kind.ts'
import { dividends } from './dividends/kind.ts'
import { graveDigs } from './grave-digs/kind.ts'

/** Listed in the order of application. A kind is one line here, and one in `endpoints.ts` and `cards.ts`. */
export const eventKinds = [burns, dividends, graveDigs] as const

type Kind = (typeof eventKinds)[number]

export type EventPart = Kind['part']

export type EventSources = { readonly [Part in EventPart]: readonly EventSource[] }

export const eventLists = Object.fromEntries(
  eventKinds.map(({ part, mapping }) => [part, Type.Optional(Type.Array(mapping))]),
) as { readonly [K in Kind as K['part']]: TOptional<TArray<K['mapping']>> }
