import type { TArray, TOptional } from 'typebox'
import { Type } from '#lib/type.ts'
import { burns } from './event-kinds/burns.ts'
import { dividends } from './event-kinds/dividends.ts'
import { graveDigs } from './event-kinds/grave-digs.ts'
import type { EventSource } from './event-source.ts'

/** Listed in the order of application. A new kind is one line here, and one for its endpoints in datasets. */
export const eventKinds = [burns, dividends, graveDigs] as const

type Kind = (typeof eventKinds)[number]

export type EventPart = Kind['part']

export type EventSources = { readonly [Part in EventPart]: readonly EventSource[] }

export const eventLists = Object.fromEntries(
  eventKinds.map(({ part, mapping }) => [part, Type.Optional(Type.Array(mapping))]),
) as { readonly [K in Kind as K['part']]: TOptional<TArray<K['mapping']>> }
