import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Service } from 'sexton-client'
import { dayName } from '#site/chart/format.ts'
import { entriesTexts } from '../entries-texts.ts'
import { useWords } from '../parts/file-context.ts'
import { shortAddress } from '../parts/format.ts'
import { readAddress } from '../parts/my-wallet.ts'
import { type Filters, kindsOf } from './filters.ts'

const t = entriesTexts.all

export interface FilterBarProps {
  readonly filters: Filters
  readonly service: Service
  choose(filters: Filters): void
}

/** On a phone the fields fold into a button; what is set stays in sight. */
export function FilterBar({ filters, service, choose }: FilterBarProps) {
  const [isOpen, setOpen] = useState(false)
  const set = (name: keyof Filters) => (value: string) => choose({ ...filters, [name]: value })
  return (
    <>
      <div class="filterbar">
        <button
          type="button"
          class="btn fold"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {t.filters}
        </button>
        <Chips filters={filters} choose={choose} />
      </div>
      <div class={isOpen ? 'filters open' : 'filters'}>
        <Kinds kind={filters.kind} service={service} choose={set('kind')} />
        <Choice name={t.fields.chain} value={filters.chain} choose={set('chain')}>
          <option value="">{t.everyChain}</option>
          {service.chains.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Choice>
        <Choice name={t.fields.token} value={filters.token} choose={set('token')}>
          <option value="">{t.everyToken}</option>
          {service.tokens.map(({ symbol }) => (
            <option key={symbol}>{symbol}</option>
          ))}
        </Choice>
        <Wallet key={filters.wallet} value={filters.wallet} choose={set('wallet')} />
        <label class="field">
          <span>{t.fields.day}</span>
          <input
            class="in"
            type="date"
            value={filters.day}
            onChange={(event) => set('day')(event.currentTarget.value)}
          />
        </label>
      </div>
    </>
  )
}

function Kinds(props: {
  readonly kind: string
  readonly service: Service
  choose(kind: string): void
}) {
  const say = useWords()
  const nouns = kindsOf(props.service).map(({ noun }) => noun)
  return (
    <div class="field kind">
      <span aria-hidden="true">{t.fields.kind}</span>
      <fieldset class="seg">
        <legend class="vh">{t.fields.kind}</legend>
        {['', ...nouns].map((noun) => (
          <button
            key={noun}
            type="button"
            aria-pressed={noun === props.kind}
            onClick={() => props.choose(noun)}
          >
            {noun === '' ? t.everyKind : say(`${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`)}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

export function Choice(props: {
  readonly name: string
  readonly value: string
  readonly children: ComponentChildren
  choose(value: string): void
}) {
  return (
    <label class="field">
      <span>{props.name}</span>
      <select
        class="in"
        value={props.value}
        onChange={(event) => props.choose(event.currentTarget.value)}
      >
        {props.children}
      </select>
    </label>
  )
}

function Wallet({ value, choose }: { readonly value: string; choose(wallet: string): void }) {
  const [isWrong, setWrong] = useState(false)
  const take = (text: string) => {
    const address = text.trim() === '' ? '' : readAddress(text)
    setWrong(address === undefined)
    if (address !== undefined) choose(address)
  }
  return (
    <label class="field wallet">
      <span>{t.fields.wallet}</span>
      <input
        class="in"
        defaultValue={value}
        placeholder={t.wallet}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isWrong}
        onChange={(event) => take(event.currentTarget.value)}
      />
      {isWrong && (
        <span class="down" role="alert">
          {t.wrong}
        </span>
      )}
    </label>
  )
}

/** What is set, each with a way to take it off. */
function Chips({ filters, choose }: Pick<FilterBarProps, 'filters' | 'choose'>) {
  const say = useWords()
  const { kind, chain, token, wallet, day } = filters
  const set = [
    ['kind', kind && say(`${kind}s`)],
    ['chain', chain],
    ['token', token],
    ['wallet', wallet && shortAddress(wallet)],
    ['day', day && dayName(Date.parse(day) / 1000, true)],
  ] as const
  return set
    .filter(([, shown]) => shown !== '')
    .map(([name, shown]) => (
      <button
        key={name}
        type="button"
        class="chip"
        onClick={() => choose({ ...filters, [name]: '' })}
      >
        <span class="vh">{t.without} </span>
        {shown} <span aria-hidden="true">×</span>
      </button>
    ))
}
