import type { ComponentChildren } from 'preact'
import type { Failure } from '../state/snapshot.ts'
import type { Snapshot } from '../state/types.ts'
import { texts } from '../texts.ts'
import { age, clock, count } from './format.ts'
import { useNow } from './now.ts'

export interface BannersProps {
  readonly snapshot: Snapshot
  readonly failure: Failure | undefined
  retry(): void
}

/** One line for each state of the whole page. */
export function Banners({ snapshot, failure, retry }: BannersProps) {
  const now = useNow()
  const { figures, readable } = snapshot
  return (
    <div class="banners" role="status" translate={false}>
      {failure !== undefined && (
        <Banner kind="bad" title={texts.banners.down}>
          <span aria-hidden="true">
            {texts.banners.downMore(
              clock(snapshot.madeUnix),
              Math.max(0, Math.ceil(failure.retryAtUnix - now)),
            )}
          </span>
          <button type="button" class="btn small" onClick={retry}>
            {texts.banners.retry}
          </button>
        </Banner>
      )}
      {!readable && (
        <Banner kind="bad" title={texts.banners.unreadable}>
          {texts.banners.unreadableMore(figures && clock(snapshot.madeUnix))}
        </Banner>
      )}
      {figures === null && readable && (
        <Banner kind="warn" title={texts.banners.unread}>
          {texts.banners.unreadMore}
        </Banner>
      )}
      {figures?.meta.chains.map(({ chain, status, blockNumber, blockTimeUnix }) => {
        if (status === 'syncing')
          return (
            <Banner key={chain} kind="warn" title={texts.banners.syncing(chain)}>
              {texts.banners.syncingMore(count(blockNumber), clock(blockTimeUnix))}
            </Banner>
          )
        if (status !== 'stale' || !readable) return null
        return (
          <Banner
            key={chain}
            kind="warn"
            title={texts.banners.stale(chain, age(now - blockTimeUnix))}
          >
            {texts.banners.staleMore(count(blockNumber), clock(blockTimeUnix))}
          </Banner>
        )
      })}
    </div>
  )
}

const ICONS = {
  warn: 'M8 2 15 14.500H1ZM8 6.500v4M8 11.800v1.400',
  bad: 'M3 3l10 10M13 3 3 13',
  good: 'M2.500 8.500 6.500 12.500 13.500 4',
} as const

export function Banner(props: {
  readonly kind: keyof typeof ICONS
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class={`banner ${props.kind}`}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={ICONS[props.kind]} fill="none" stroke="currentColor" stroke-width="1.6" />
      </svg>
      <b>{props.title}</b> {props.children}
    </div>
  )
}
