// What crosses between the page and the Runtime, by the names that the page uses.
export type * from './generated/frames';
