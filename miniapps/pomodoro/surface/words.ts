const en = {
  title: 'Focus',
  waiting: 'Nothing is running',
  done: 'Time is up. Well done.',
  stopped: 'Stopped',
  lost: 'This view has no connection to its page. Close it and open it again.',
  of: (minutes: number) => (minutes === 1 ? 'of 1 minute' : `of ${minutes} minutes`),
  left: (text: string) => `${text} left`,
};

const zh: typeof en = {
  title: '专注',
  waiting: '没有正在进行的专注',
  done: '时间到，辛苦了。',
  stopped: '已停止',
  lost: '与页面的连接没有建立。请关闭后重新打开。',
  of: (minutes) => `共 ${minutes} 分钟`,
  left: (text) => `还剩 ${text}`,
};

export type Words = typeof en;

/** The words for a locale such as `zh-CN`. */
export function wordsFor(locale: string): Words {
  return locale.toLowerCase().startsWith('zh') ? zh : en;
}
