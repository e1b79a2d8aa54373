import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

/** A field for a key that exists already. */
export function UseKey({ onSecret }: { onSecret(secret: string): void }) {
  const t = texts.keys
  const [secret, setSecret] = useState('')
  return (
    <details class="data">
      <summary>{t.haveKey}</summary>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          onSecret(secret.trim())
          setSecret('')
        }}
      >
        <label class="field">
          <span>{t.haveKeyNote}</span>
          <input
            class="in"
            spellcheck={false}
            autocomplete="off"
            aria-label={t.secret}
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn" disabled={secret.trim() === ''}>
          {t.use}
        </button>
      </form>
    </details>
  )
}
