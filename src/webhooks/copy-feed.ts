import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type FeedState, readChanges, readFeedState, readFinal } from '#indexer/feed/read-feed.ts'
import { type IndexStatus, readIndexStatus } from '#indexer/status.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { LISTED, matches, type Shown, show } from '#stream/feed-rows.ts'
import type { Filter } from '#stream/stream-parameters.ts'
import { type NewEvent, queueEvents } from './event-store.ts'
import type { Webhook } from './webhook.ts'
import { readFilter } from './webhook-filter.ts'
import { followingWebhooks, lockWebhooks, moveCursors } from './webhook-store.ts'

export interface CopyDeps {
  readonly register: Engine
  readonly accounts: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  /** A transaction of the only deliverer. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** Changes in one transaction. */
const PAGE = 500

const RESET: NewEvent = {
  type: 'feed.reset',
  data: JSON.stringify({ reason: 'read the lists again' }),
  isFree: true,
}

interface Group {
  readonly epoch: string | null
  readonly sequence: number
  readonly webhooks: readonly Webhook[]
}

/**
 * Queues what the feed has for each webhook, and moves its cursor in the same transaction, so that
 * the feed may forget it. Returns whether there may be more.
 */
export async function copyFeed(deps: CopyDeps): Promise<boolean> {
  const state = await deps.register.snapshot(readFeedState)
  if (state === undefined) return false
  const following = await followingWebhooks({ run: deps.accounts.read }, state)
  const groups = new Map<string, Group>()
  for (const webhook of following) {
    const { epoch, sequence } = webhook
    const key = `${epoch}.${sequence}`
    const webhooks = [...(groups.get(key)?.webhooks ?? []), webhook]
    groups.set(key, { epoch, sequence: sequence ?? 0, webhooks })
  }
  let hasMore = false
  for (const group of groups.values()) hasMore = (await copyGroup(deps, group)) || hasMore
  return hasMore
}

async function copyGroup(deps: CopyDeps, group: Group): Promise<boolean> {
  const filters = new Map<Webhook, Filter>()
  for (const webhook of group.webhooks) {
    const filter = readFilter(deps.ecosystem, webhook.filter)
    if (filter !== undefined) filters.set(webhook, filter)
  }
  if (filters.size === 0) return false
  const wantsFinal = [...filters.values()].some(({ finality }) => finality === 'finalized')
  const page = await readPage(deps, group, wantsFinal)
  if (page === undefined) return false
  const queued = new Map<string, readonly NewEvent[]>()
  for (const [{ id }, filter] of filters)
    queued.set(id, page.isReset ? [RESET] : page.changes.flatMap((each) => eventsOf(each, filter)))
  await deps.write((connection) => store(connection, deps, { group, queued, to: page.to }))
  return page.changes.length === PAGE
}

interface Page {
  readonly isReset: boolean
  readonly changes: readonly PageChange[]
  readonly to: { readonly epoch: string; readonly sequence: number }
}

interface PageChange {
  readonly shown: Shown
  /** Of `finalized`: what became final. */
  readonly final: readonly Shown[]
}

function readPage(deps: CopyDeps, group: Group, wantsFinal: boolean): Promise<Page | undefined> {
  return deps.register.snapshot(async (reads) => {
    const state = await readFeedState(reads)
    const status = await readIndexStatus(reads, deps.ecosystem.chains)
    if (state === undefined || status === undefined) return undefined
    const { epoch } = state
    if (!isKept(state, group))
      return { isReset: true, changes: [], to: { epoch, sequence: state.last } }
    const read = await readChanges(reads, { after: group.sequence, limit: PAGE })
    const showing = { status, ecosystem: deps.ecosystem }
    const changes: PageChange[] = []
    for (const change of read) {
      const shown = show(showing, change)
      const isFinal = wantsFinal && change.op === 'finalized'
      changes.push({ shown, final: isFinal ? await showFinal(reads, showing, shown) : [] })
    }
    const sequence = read.at(-1)?.sequence ?? state.last
    return { isReset: false, changes, to: { epoch, sequence } }
  })
}

function isKept(state: FeedState, { epoch, sequence }: Group): boolean {
  return state.epoch === epoch && sequence >= state.pruned && sequence <= state.last
}

async function showFinal(
  reads: Connection,
  showing: { readonly status: IndexStatus; readonly ecosystem: Ecosystem },
  of: Shown,
): Promise<readonly Shown[]> {
  const { chainId, blockNumber: to, detail } = of.change.event
  const events = await readFinal(reads, { chainId, from: Number(detail), to, datasets: LISTED })
  return events.map((event) => show(showing, { ...of.change, op: 'add', event }))
}

/** `finalized` itself is left out: rows say how final they are. */
function eventsOf({ shown, final }: PageChange, filter: Filter): readonly NewEvent[] {
  const { op } = shown.change
  const isFinal = filter.finality === 'finalized'
  const wanted =
    op === 'finalized' ? (isFinal ? final : []) : !isFinal || isLateValue(shown) ? [shown] : []
  return wanted.filter((each) => each.text !== '' && matches(filter, each)).map(toEvent)
}

function isLateValue({ change }: Shown): boolean {
  return change.op === 'update' && change.isFinal
}

function toEvent({ kind, change, text }: Shown): NewEvent {
  const data = text.slice(text.indexOf('\ndata: ') + '\ndata: '.length, -1)
  return { type: `${kind}.${change.op}`, data, isFree: false }
}

async function store(
  connection: Connection,
  { clock }: CopyDeps,
  input: {
    readonly group: Group
    readonly queued: ReadonlyMap<string, readonly NewEvent[]>
    readonly to: { readonly epoch: string; readonly sequence: number }
  },
): Promise<void> {
  const { group, queued, to } = input
  const locked = await lockWebhooks(connection, [...queued.keys()])
  const moved: string[] = []
  for (const [id, webhook] of locked) {
    const isHere = webhook.epoch === group.epoch && webhook.sequence === group.sequence
    if (webhook.state !== 'active' || !isHere) continue
    moved.push(id)
    const events = queued.get(id) ?? []
    if (events.length > 0) await queueEvents(connection, webhook, { events, nowMs: clock() })
  }
  await moveCursors(connection, moved, to)
}
