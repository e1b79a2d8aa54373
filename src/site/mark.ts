export const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-3.5 -1 32 33">
<style>.i{stroke:#17201c}.r{stroke:#a1232d}@media(prefers-color-scheme:dark){.i{stroke:#e9ede6}.r{stroke:#f0787a}}</style>
<path class="i" d="M2 30V14C2 8 6.600 3.400 12.500.9 18.400 3.400 23 8 23 14V30Z" fill="none" stroke-width="2"/>
<path class="i" d="M6.500 14.500h12M6.500 19.500h12" stroke-width="1.8"/><path class="r" d="M6.500 24.500h7.500" stroke-width="2.200"/>
</svg>
`
