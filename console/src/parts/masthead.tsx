import type { Snapshot } from '../state/types.ts'
import { texts } from '../texts.ts'
import { age, count } from './format.ts'
import { useNow } from './now.ts'
import { Search } from './search.tsx'
import { switchTheme } from './theme.ts'

export interface MastheadProps {
  readonly snapshot: Snapshot
  /** First part of the path. */
  readonly current: string
}

export function Masthead({ snapshot, current }: MastheadProps) {
  const link = (path: string, name: string) => (
    <a href={`/${path}`} aria-current={current === path ? 'page' : undefined}>
      {name}
    </a>
  )
  return (
    <header class="mast">
      <a class="brand" href="/">
        <Mark />
        {snapshot.service.service}
      </a>
      <div class="right">
        <nav aria-label={texts.nav.label}>
          {link('', texts.nav.register)}
          {link('entries', texts.nav.entries)}
          {link('keys', texts.nav.keys)}
          {link('try', texts.nav.try)}
          <a href="/scalar/v1">{texts.nav.docs}</a>
        </nav>
        <Search />
        <Chains snapshot={snapshot} />
        <button type="button" class="btn icon" aria-label={texts.theme} onClick={switchTheme}>
          <svg viewBox="0 0 18 18" aria-hidden="true">
            <circle cx="9" cy="9" r="6.6" fill="none" stroke="currentColor" stroke-width="1.5" />
            <path d="M9 2.400a6.600 6.600 0 0 1 0 13.200z" fill="currentColor" />
          </svg>
        </button>
      </div>
    </header>
  )
}

/** Each chain's newest block and its age; amber with a triangle when it is silent. */
function Chains({ snapshot }: Pick<MastheadProps, 'snapshot'>) {
  const now = useNow()
  return (
    <div class="chains" translate={false}>
      {snapshot.figures?.meta.chains.map(({ chain, blockNumber, blockTimeUnix, status }, index) => (
        <span key={chain} class={status === 'stale' ? 'warn' : ''}>
          <i class={`dot chain-${index % 4}`} />
          <b>{chain}</b> {status === 'stale' && <span aria-hidden="true">△ </span>}
          {count(blockNumber)}
          <span class="lag">, {texts.ago(age(now - blockTimeUnix))}</span>
        </span>
      ))}
    </div>
  )
}

/** A tombstone that is also a page of entries; one line in red. */
function Mark() {
  return (
    <svg viewBox="0 0 25 32" aria-hidden="true">
      <path
        d="M2 31V14.5C2 8.4 6.6 3.6 12.5.9 18.4 3.6 23 8.4 23 14.5V31Z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.7"
      />
      <path d="M6.5 15.500h12M6.500 20.500h12" stroke="currentColor" stroke-width="1.5" />
      <path d="M6.500 25.500h7.500" class="rubric-line" stroke-width="1.9" />
    </svg>
  )
}
