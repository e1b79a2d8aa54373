import { useState } from 'preact/hooks'
import type { Service } from 'sexton-client'
import { UseKey } from '../keys/use-key.tsx'
import { Copy } from '../parts/copy.tsx'
import { count } from '../parts/format.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { QuotaLine } from '../parts/quota-line.tsx'
import { secretInUse, takeSecret, useQuota } from '../state/session.ts'
import { texts } from '../texts.ts'
import { codeOf, LANGUAGES, type Language } from './code.ts'
import { ENDPOINTS, targetOf } from './endpoints.ts'
import { type Sent, send } from './send.ts'

const t = texts.try

/** A request builder: parameters and code left, the answer and its cost right. */
export function TryPage({ service }: { readonly service: Service }) {
  const first = ENDPOINTS.find(({ path }) => path === location.hash.slice(1)) ?? ENDPOINTS[2]
  const [path, setPath] = useState(first?.path ?? '')
  const [values, setValues] = useState<Readonly<Record<string, string>>>(first?.parameters ?? {})
  const [language, setLanguage] = useState<Language>('curl')
  const [sent, setSent] = useState<Sent>()
  const [failure, setFailure] = useState<unknown>()
  const { hasKey } = useQuota()
  const target = targetOf(path, values)
  const code = codeOf(language, `${location.origin}${target}`, hasKey)
  const choose = (next: string) => {
    setPath(next)
    setValues(ENDPOINTS.find((endpoint) => endpoint.path === next)?.parameters ?? {})
  }
  return (
    <section class="row" aria-labelledby="try">
      <div class="margin">
        <h1 id="try">{t.title}</h1>
        <p class="note">{t.note}</p>
        <p class="note">{t.key(secretInUse() !== undefined)}</p>
        <QuotaLine />
      </div>
      <div class="body">
        <div class="try">
          <form
            class="request"
            onSubmit={(event) => {
              event.preventDefault()
              setFailure(undefined)
              send(target).then(setSent, setFailure)
            }}
          >
            <Endpoints path={path} choose={choose} />
            <div class="params">
              {Object.entries(values).map(([name, value]) => (
                <Parameter
                  key={name}
                  name={name}
                  value={value}
                  service={service}
                  change={(next) => setValues({ ...values, [name]: next })}
                />
              ))}
            </div>
            <Languages language={language} choose={setLanguage} />
            <pre>{code}</pre>
            <Actions code={code} />
          </form>
          <div role="status">
            {failure !== undefined && <ProblemNote error={failure} />}
            {sent === undefined ? <p class="quiet">{t.none}</p> : <Answer sent={sent} />}
          </div>
        </div>
        <UseKey onSecret={takeSecret} />
      </div>
    </section>
  )
}

function Endpoints({ path, choose }: { readonly path: string; choose(path: string): void }) {
  return (
    <label class="field">
      <span>{t.endpoint}</span>
      <select class="in" value={path} onChange={(event) => choose(event.currentTarget.value)}>
        {ENDPOINTS.map((endpoint) => (
          <option key={endpoint.path} value={endpoint.path}>
            GET {endpoint.path}
          </option>
        ))}
      </select>
    </label>
  )
}

function Languages(props: { readonly language: Language; choose(language: Language): void }) {
  return (
    <fieldset class="seg">
      <legend class="vh">{t.language}</legend>
      {LANGUAGES.map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === props.language}
          onClick={() => props.choose(each)}
        >
          {each}
        </button>
      ))}
    </fieldset>
  )
}

function Actions({ code }: { readonly code: string }) {
  return (
    <p class="acts">
      <button type="submit" class="btn primary">
        {t.send}
      </button>
      <Copy text={code} label={t.copy} of="" class="btn" />
      <a class="note" href="/scalar/v1">
        {t.scalar}
      </a>
    </p>
  )
}

interface ParameterProps {
  readonly name: string
  readonly value: string
  readonly service: Service
  change(value: string): void
}

function Parameter({ name, value, service, change }: ParameterProps) {
  const choices = {
    chain: service.chains.map((chain) => chain.name),
    token: service.tokens.map(({ symbol }) => symbol),
    metric: service.metrics,
  }[name]
  return (
    <label class="field" for={`parameter-${name}`}>
      <span>{name}</span>
      {choices === undefined ? (
        <input
          id={`parameter-${name}`}
          class="in"
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <select
          id={`parameter-${name}`}
          class="in"
          value={value}
          onChange={(event) => change(event.currentTarget.value)}
        >
          {name !== 'metric' && <option value="">{t.notSet}</option>}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </label>
  )
}

function Answer({ sent }: { readonly sent: Sent }) {
  const { status, tookMs, text, headers, paidBy } = sent
  const { quota } = useQuota()
  return (
    <>
      <p class="bar">
        <span class={`tag ${status < 300 ? 'good' : 'bad'}`}>{status}</span>
        <span class="note">{t.took(tookMs, `${count(text.length)} B`)}</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable. */}
      <pre tabIndex={0}>{text}</pre>
      <details class="data">
        <summary>{t.headers}</summary>
        <pre>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      <p class="cost">
        <span>
          {t.cost} <b>{t.costs.calls(paidBy === null ? 0 : 1)}</b>
        </span>
        {paidBy !== null && (
          <span>
            {t.paidBy} <b>{t.payer[paidBy]}</b>
          </span>
        )}
        {quota !== undefined && (
          <span>
            {t.left} <b>{t.of(count(quota.remaining), count(quota.limit))}</b>
          </span>
        )}
      </p>
    </>
  )
}
