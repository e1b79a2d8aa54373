import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Gate as GateAnswer, getGate } from 'sexton-client'
import { amount, count, shortAddress, usd } from '../parts/format.ts'
import { sumOf } from '../parts/units.ts'
import { keyless } from '../state/session.ts'
import { texts } from '../texts.ts'
import { Refusal, State } from './refusal.tsx'
import { useAction } from './use-action.ts'

const t = texts.gate

export interface GateProps {
  readonly address: string
  /** Where the token is bought. */
  readonly trade: string | null
  onGate(address: string, canMint: boolean): void
}

/** What the gate says of a wallet: held, needed, missing; free to ask. */
export function Gate(props: GateProps) {
  return <GateOfOne key={props.address} {...props} />
}

function GateOfOne({ address, trade, onGate }: GateProps) {
  const [gate, setGate] = useState<GateAnswer>()
  const action = useAction()
  const check = () =>
    action.run(async () => {
      const { data } = await getGate(keyless, { address })
      setGate(data)
      onGate(address, data.canMint)
    })
  useEffect(() => void check(), [])
  return (
    <div>
      <h2 class="sub">
        {t.title} <span class="note code">{shortAddress(address)}</span>
      </h2>
      <Refusal error={action.error} again={check} />
      {gate !== undefined && <Gates gate={gate} again={check} trade={trade} />}
    </div>
  )
}

interface GatesProps {
  readonly gate: GateAnswer
  readonly trade?: string | null
  again?: (() => void) | undefined
}

/** An arch for the key and one for each tier that asks for more. */
export function Gates(props: GatesProps) {
  const { gate } = props
  return (
    <div class="gates">
      <Holding {...props} />
      {gate.tiers.map(({ tier, symbol, held, needed, reached, dailyQuota }) => (
        <div class="gate" key={tier}>
          <Arch share={reached ? 1 : Number(held) / Number(needed)} />
          <div>
            <h3>{t.tier(tier, count(dailyQuota))}</h3>
            <Facts
              lines={[
                [`${t.needed}, ${symbol}`, amount(needed)],
                [t.held, amount(held)],
                ...(reached ? [] : [[t.missing, amount(sumOf([needed, `-${held}`]))] as const]),
              ]}
            />
          </div>
        </div>
      ))}
    </div>
  )
}

function Holding({ gate, again, trade }: GatesProps) {
  const { canMint, requiredUsd, heldUsd, tier, dailyQuota, tokens } = gate
  if (requiredUsd === null || heldUsd === null)
    return (
      <div class="gate">
        <Arch share={1} />
        <h3>{t.anyone}</h3>
      </div>
    )
  return (
    <>
      <div class="gate">
        <Arch share={canMint ? 1 : heldUsd / requiredUsd} />
        <div>
          <h3>{canMint ? t.open(tier, count(dailyQuota)) : t.closed}</h3>
          <Facts
            lines={[
              [t.needed, usd(requiredUsd)],
              [t.held, usd(heldUsd)],
              ...(canMint ? [] : [[t.missing, usd(requiredUsd - heldUsd)] as const]),
              ...tokens.map(
                ({ symbol, amount: held, valueUsd }) =>
                  [`${amount(held)} ${symbol}`, usd(valueUsd)] as const,
              ),
            ]}
          />
        </div>
      </div>
      {!canMint && again !== undefined && (
        <State
          title={t.short(usd(requiredUsd - heldUsd))}
          more={t.shortMore(usd(heldUsd), usd(requiredUsd))}
        >
          <button type="button" class="btn small" onClick={again}>
            {t.again}
          </button>
          {trade != null && (
            <a class="btn small" href={trade}>
              {t.trade(tokens.map(({ symbol }) => symbol).join(', '))}
            </a>
          )}
        </State>
      )}
    </>
  )
}

export function Facts({
  lines,
}: {
  readonly lines: readonly (readonly [string, ComponentChildren])[]
}) {
  return (
    <dl class="facts">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const ARCH = 'M10 140V62C10 36 28 16 46 3C64 16 82 36 82 62V140Z'
const TOP = 3
const FOOT = 140

/** The pointed arch fills with what the wallet holds. */
function Arch({ share }: { readonly share: number }) {
  const held = Math.min(1, Math.max(0, share))
  const y = FOOT - (FOOT - TOP) * held
  return (
    <svg viewBox="0 0 92 142" role="img" aria-label={`${Math.floor(held * 100)}%`}>
      <defs>
        <clipPath id="arch">
          <path d={ARCH} />
        </clipPath>
      </defs>
      <path class="arch-ground" d={ARCH} />
      <g clip-path="url(#arch)">
        <rect class={`arch-fill ${held === 1 ? 'open' : ''}`} x="0" width="92" y={y} height="140" />
        <path class="arch-bars" d="M46 3V140M10 72h72M10 106h72" />
      </g>
      <path class="arch-line" d={`${ARCH}M4 140H88`} />
    </svg>
  )
}
