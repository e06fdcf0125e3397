const KEY = 'lineup.draft.';

/** What was typed and not sent, per conversation; kept at every change, gone when it is sent (C36). */
export class Drafts {
  constructor(private readonly storage: Storage) {}

  read(conversation: string): string {
    return this.storage.getItem(KEY + conversation) ?? '';
  }

  write(conversation: string, text: string): void {
    if (text === '') this.storage.removeItem(KEY + conversation);
    else this.storage.setItem(KEY + conversation, text);
  }
}
