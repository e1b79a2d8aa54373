import type { Chain } from 'sexton-client'
import {
  amount,
  cents,
  count,
  ordinal,
  percent,
  price,
  signed,
  signedCents,
} from '../parts/format.ts'
import { whyUnknown } from '../parts/reason.ts'
import type { Snapshot } from '../state/types.ts'
import { texts } from '../texts.ts'
import { walletTexts } from '../wallet-texts.ts'
import { addUp, type Line, type TokenLines } from './worth.ts'

const t = walletTexts

export interface HoldingsProps {
  readonly tokens: readonly TokenLines[]
  readonly snapshot: Snapshot
}

/** By token, then by chain, closed by what all is worth. */
export function Holdings({ tokens, snapshot }: HoldingsProps) {
  const { chains } = snapshot.service
  const { figures } = snapshot
  const missing = tokens.flatMap(({ sum, missing: unread }) =>
    figures === null ? [] : unread.map((chain) => whyUnknown(figures.meta, sum.name, chain)),
  )
  const sums = tokens.map(({ sum }) => sum)
  return (
    <section class="row" aria-labelledby="held">
      <div class="margin">
        <h2 id="held">{t.held.title}</h2>
        <p class="note">{t.held.note}</p>
        {missing.length > 0 && (
          <p class="note">{t.held.missing([...new Set(missing)].join(' '))}</p>
        )}
      </div>
      <div class="body">
        <table class="held">
          <thead>
            <tr>
              <th>{t.held.columns.place}</th>
              <th class="r">{t.held.columns.amount}</th>
              <th class="r">{t.held.columns.change}</th>
              <th class="r">{t.held.columns.worth}</th>
              <th class="r w">{t.held.columns.change}</th>
              <th class="r">{t.held.columns.share}</th>
              <th class="r">{t.held.columns.rank}</th>
            </tr>
          </thead>
          {tokens.map((token) => (
            <tbody key={token.sum.name}>
              <TokenRow token={token} />
              {token.chains.map((line) => (
                <ChainRow key={line.name} line={line} chains={chains} snapshot={snapshot} />
              ))}
            </tbody>
          ))}
          <tfoot>
            <tr>
              <th scope="row">{t.held.together}</th>
              <td />
              <td />
              <td class="r" data-name={t.held.columns.worth}>
                {orUnknown(cents(addUp(sums.map((each) => each.cents))))}
              </td>
              <td class="r w">
                <Change cents={addUp(sums.map((each) => each.changeCents))} />
              </td>
              <td />
              <td />
            </tr>
          </tfoot>
        </table>
      </div>
    </section>
  )
}

function TokenRow({ token: { held, sum } }: { readonly token: TokenLines }) {
  const { priceUsd, priceUnknown } = held
  const each =
    priceUnknown === null
      ? t.held.each(price(priceUsd))
      : texts.unknown.price[priceUnknown](sum.name)
  return (
    <tr class="sum">
      <th scope="rowgroup">
        {sum.name} <span class="note">{each}</span>
      </th>
      <Figures line={sum} />
      <td class="r" data-name={t.held.columns.rank}>
        {rankOf(held)}
      </td>
    </tr>
  )
}

/** Such as `58th of 500`. */
export function rankOf({ inAll, holderCount }: TokenLines['held']) {
  if (inAll === null) return <Unknown />
  if (inAll.excluded) return <span class="note">{t.held.excluded}</span>
  if (inAll.rank === null)
    return <span class="note">{inAll.balance === '0' ? '' : t.held.unranked}</span>
  const of = holderCount === null ? '' : t.held.of(count(holderCount))
  return (
    <>
      <b>{ordinal(inAll.rank)}</b> <span class="note">{of}</span>
    </>
  )
}

function ChainRow(props: {
  readonly line: Line
  readonly chains: readonly Chain[]
  readonly snapshot: Snapshot
}) {
  const { line, chains, snapshot } = props
  const index = chains.findIndex(({ name }) => name === line.name)
  const status = snapshot.figures?.meta.chains.find(({ chain }) => chain === line.name)
  return (
    <tr>
      <td>
        <i class={`dot chain-${index % 4}`} />
        {line.name} {status !== undefined && <small class="blk">{count(status.blockNumber)}</small>}
      </td>
      <Figures line={line} />
      <td />
    </tr>
  )
}

function Figures({ line }: { readonly line: Line }) {
  const share = !line.sharePct ? '' : percent(line.sharePct, 4)
  return (
    <>
      <td class="r amount" data-name={t.held.columns.amount}>
        {orUnknown(line.amount === null ? '' : amount(line.amount))}
      </td>
      <td class="r" data-name={t.held.columns.change}>
        {line.change === null ? '' : signed(line.change) || t.held.same}
      </td>
      <td class="r amount" data-name={t.held.columns.worth}>
        {orUnknown(cents(line.cents))}
      </td>
      <td class="r w">
        <Change cents={line.changeCents} />
      </td>
      <td class="r quiet" data-name={t.held.columns.share}>
        {share}
      </td>
    </>
  )
}

/** Falling dollars are red. */
export function Change({ cents: change }: { readonly cents: number | null }) {
  if (change === null) return null
  if (change === 0) return <>{t.held.same}</>
  return <span class={change < 0 ? 'down' : 'up'}>{signedCents(change)}</span>
}

export function Unknown() {
  return <i class="unknown">{t.unknown}</i>
}

export function orUnknown(text: string) {
  return text === '' ? <Unknown /> : text
}
