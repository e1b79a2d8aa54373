/** A tombstone that is also a page of entries; one line in red. */
export function Mark() {
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
