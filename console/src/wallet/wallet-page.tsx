import { Gates } from '../keys/gate.tsx'
import { Copy } from '../parts/copy.tsx'
import { useWords } from '../parts/file-context.ts'
import { clock, count, percent, signedCents, splitAmount, usd } from '../parts/format.ts'
import { useMyWallet } from '../parts/my-wallet.ts'
import { QuotaLine } from '../parts/quota-line.tsx'
import { sizeOf } from '../register/headline.tsx'
import type { Snapshot, WalletFigures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { walletTexts } from '../wallet-texts.ts'
import { timesOf, WalletDone } from './done.tsx'
import { Change, Holdings, orUnknown, rankOf } from './holdings.tsx'
import { WalletDays } from './wallet-days.tsx'
import { WalletEntries } from './wallet-entries.tsx'
import { WalletFiles } from './wallet-files.tsx'
import { addUp, linesOf, type TokenLines } from './worth.ts'

const t = walletTexts

export interface WalletPageProps {
  readonly address: string
  readonly snapshot: Snapshot
}

/** One wallet at an address of its own. The figures are in the page: opening it is no call. */
export function WalletPage({ address, snapshot }: WalletPageProps) {
  const { wallet } = snapshot
  const figures = wallet?.figures ?? null
  if (figures === null) {
    const openUnix = wallet?.openUnix ?? null
    const title = openUnix === null ? t.away.title : t.closed.title
    return (
      <Bare address={address} snapshot={snapshot} title={title}>
        {openUnix === null ? t.away.more : t.closed.more(clock(openUnix))}
      </Bare>
    )
  }
  const tokens = figures.held.map(linesOf)
  return (
    <>
      {isEmpty(figures) ? (
        <Bare address={figures.address} snapshot={snapshot} title={texts.entries.none}>
          {t.entries.none(blocksOf(snapshot))}
        </Bare>
      ) : (
        <>
          <Top figures={figures} tokens={tokens} snapshot={snapshot} />
          <Holdings tokens={tokens} snapshot={snapshot} />
          <WalletDone figures={figures} />
          <WalletDays {...figures} />
          <WalletEntries figures={figures} snapshot={snapshot} />
        </>
      )}
      {figures.gate !== null && (
        <section class="row" aria-labelledby="gate">
          <div class="margin">
            <h2 id="gate">{t.gate.title}</h2>
            <p class="note">{t.gate.note}</p>
          </div>
          <div class="body wide-gates">
            <Gates gate={figures.gate} />
          </div>
        </section>
      )}
      {!isEmpty(figures) && <WalletFiles address={figures.address} />}
    </>
  )
}

/** Known to hold nothing and to have done nothing. */
function isEmpty({ held, newest, claims }: WalletFigures): boolean {
  const holdsNothing = held.every(({ inAll }) => inAll?.balance === '0')
  return holdsNothing && newest.length === 0 && claims?.claimCount === 0
}

function blocksOf({ figures }: Snapshot): string {
  const blocks = figures?.meta.chains.map(({ chain, blockNumber }) =>
    texts.headline.block(count(blockNumber), chain),
  )
  return blocks?.join(', ') ?? ''
}

/** A wallet without figures: why, in words. */
function Bare(props: WalletPageProps & { title: string; children: string }) {
  return (
    <section class="row hero" aria-labelledby="wallet">
      <div class="margin">
        <p class="note">{t.free}</p>
      </div>
      <div class="body">
        <Identity address={props.address} snapshot={props.snapshot} />
        <div class="stack">
          <h2>{props.title}</h2>
          <p class="quiet">{props.children}</p>
          <div class="lines" />
        </div>
      </div>
    </section>
  )
}

function Top(props: {
  readonly figures: WalletFigures
  readonly tokens: readonly TokenLines[]
  readonly snapshot: Snapshot
}) {
  const { figures, tokens, snapshot } = props
  const say = useWords()
  const sums = tokens.map(({ sum }) => sum)
  const worth = addUp(sums.map((each) => each.cents))
  const blocks = blocksOf(snapshot)
  const [units, rest] = worth === null ? [] : splitAmount((worth / 100).toFixed(2))
  const { claims, done } = figures
  return (
    <section class="row hero" aria-labelledby="wallet">
      <div class="margin">
        {blocks !== '' && <p class="note">{texts.headline.asOf(blocks)}</p>}
        <p class="note">{t.free}</p>
        <QuotaLine />
      </div>
      <div class="body">
        <Identity
          address={figures.address}
          snapshot={snapshot}
          tier={figures.gate?.canMint ? figures.gate.tier : undefined}
        />
        <div>
          <h2>{t.worth(clock(figures.madeUnix))}</h2>
          <p
            translate={false}
            class={`big ${units === undefined ? 'longer' : sizeOf(`$${units}`)}`}
          >
            {units === undefined ? orUnknown('') : `$${units}`}
            <small>{rest}</small>
          </p>
          <Since sums={sums} worth={worth} />
        </div>
        <dl class="account">
          {tokens.map(({ sum, held }) => (
            <div key={sum.name}>
              <dt>{sum.name}</dt>
              <dd class="d">{rankOf(held)}</dd>
              <dd class="v">{orUnknown(sum.amount === null ? '' : count(sum.amount))}</dd>
            </div>
          ))}
          <div>
            <dt>{t.done.claimed}</dt>
            <dd class="d">{t.done.atClaim}</dd>
            <dd class="v">{orUnknown(usd(claims?.usdAtClaim ?? null))}</dd>
          </div>
          <div>
            <dt>{say(t.done.digs)}</dt>
            <dd class="d" />
            <dd class="v">
              {figures.digger
                ? count(figures.digger.digCount)
                : orUnknown(timesOf(done.dig ?? null))}
            </dd>
          </div>
        </dl>
      </div>
    </section>
  )
}

/** How much of the change is price, so that the rest came or went. */
function Since(props: {
  readonly sums: readonly TokenLines['sum'][]
  readonly worth: number | null
}) {
  const { sums, worth } = props
  const change = addUp(sums.map((each) => each.changeCents))
  const moved = addUp(sums.map((each) => each.movedCents))
  if (change === null || moved === null || worth === null) return null
  const before = worth - change
  return (
    <>
      <p class="under">
        <b>
          <Change cents={change} />
        </b>
        <span>{t.since(before === 0 ? '' : shareOf(change, before))}</span>
      </p>
      {change !== 0 && (
        <p class="quiet why">{t.why(signedCents(change - moved), signedCents(moved))}</p>
      )}
    </>
  )
}

function shareOf(change: number, before: number): string {
  return `${change > 0 ? '+' : ''}${percent((change / before) * 100)}`
}

function Identity(props: WalletPageProps & { readonly tier?: string | undefined }) {
  const { address, snapshot, tier } = props
  const [mine, callMine] = useMyWallet()
  const isMine = mine?.toLowerCase() === address.toLowerCase()
  const explorers = snapshot.service.chains.filter(({ explorerUrl }) => explorerUrl !== null)
  return (
    <div class="idline">
      <div>
        <p class="tags">
          {isMine && <span class="mine">{texts.search.mine}</span>}
          {tier !== undefined && <span class="tag good">{t.tier(tier)}</span>}
          {isMine && <span class="note">{texts.search.kept}</span>}
          <button
            type="button"
            class="as-link note"
            onClick={() => callMine(isMine ? undefined : address)}
          >
            {isMine ? texts.search.forget : t.callMine}
          </button>
        </p>
        <h1 class="addr" id="wallet">
          {address}
        </h1>
      </div>
      <p class="acts note">
        <Copy text={address} label={t.copy} of="" class="btn small" />
        {explorers.length > 0 && t.seeOn}
        {explorers.map(({ name, explorerUrl }) => (
          <a key={name} href={`${explorerUrl}/address/${address}`} rel="noreferrer">
            {new URL(explorerUrl ?? '').hostname}
          </a>
        ))}
      </p>
    </div>
  )
}
