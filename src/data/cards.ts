import type { EventCard } from '#site/event-card.ts'
import { burnCard } from './burns/card.ts'
import { dividendCard } from './dividends/card.ts'
import { graveDigCard } from './grave-digs/card.ts'

/** Separate from the kinds, so that the browser loads no schemas. */
export const cards: readonly EventCard[] = [burnCard, dividendCard, graveDigCard]
