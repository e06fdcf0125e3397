//! The phrases that the agent knows, in both languages.

/// What a request may begin with.
pub(crate) const POLITE: &[&str] = &[
    "please", "could you", "can you", "would you", "will you", "can we", "could we", "shall we", "can i",
    "i want to", "i want you to", "i want", "i need to", "i need", "i would like to", "i would like",
    "id like to", "id like", "id like you to", "lets", "let us", "let me", "help me", "help me to", "ok",
    "okay", "hey", "hi", "hello", "now", "just", "so", "and", "then", "alright", "all right", "well", "yes",
    "yeah", "go ahead and", "you can", "you may", "why not", "why dont we", "its time to", "it is time to",
    "time to", "im ready to", "im going to", "right", "actually", "thanks", "thank you", "demo", "请", "請",
    "麻烦", "麻烦你", "现在", "現在", "马上", "立刻", "先", "好", "好的", "那", "那就", "就", "你好", "嗨", "可以", "能", "能不能", "可不可以",
    "我想", "我要", "想", "要", "帮我", "幫我", "给我", "給我", "替我", "你", "我", "请你", "快", "快点", "把", "谢谢", "嗯", "是的",
];

pub(crate) const HOW_LONG_LEFT: &[&str] = &[
    "how long left", "how long is left", "how long do i have", "how long is there left", "how much longer",
    "how much time", "how many minutes are left", "how many minutes left", "how many more minutes",
    "time left", "time remaining", "remaining time", "when does it end", "when will it end",
    "when is it over", "when will it be over", "how long until", "how long to go", "how long does it still",
    "how long will it still", "is it over yet", "minutes remaining", "时间还剩", "还剩多久", "還剩多久", "还剩多长", "还剩多少",
    "還剩多少", "还剩几分钟", "还有多久", "還有多久", "还有多长", "还有多少时间", "还有几分钟", "剩多久", "剩多少时间", "剩余时间", "剩餘時間", "还要多久",
    "還要多久", "还要多长", "还得多久", "什么时候结束", "几点结束", "何时结束", "多久结束", "多久才结束", "还差多久", "结束了吗", "到时间了吗", "时间到了吗",
];

pub(crate) const HOW_LONG_LEFT_ALONE: &[&str] = &[
    "how long", "how long now", "多久", "多久了", "还剩", "剩余",
];

pub(crate) const WHAT_CAN_YOU: &[&str] = &[
    "what can you", "what could you", "what do you do", "what may you", "what are you able",
    "what are you allowed", "what you can do", "what you may", "what else can you", "what do you see",
    "what tools", "which tools", "who are you", "what are you", "what do you know", "how do you work",
    "how does this work", "your abilities", "你能做什么", "你能做什麼", "你会做什么", "你會做什麼", "你会什么", "你会干什么", "你能干什么",
    "你能干嘛", "你可以做什么", "可以做什么", "能做些什么", "你能用什么", "你能使用什么", "你可以用什么", "你可以使用什么", "能用哪些", "可以用哪些", "哪些工具",
    "什么工具", "什么功能", "哪些功能", "你能看到什么", "你能看见什么", "你可以看到什么", "你看得到什么", "你是谁", "你是誰", "你是什么", "怎么用", "怎么使用",
];

pub(crate) const WHAT_CAN_YOU_ALONE: &[&str] = &[
    "help", "help me", "help please", "please help", "hi", "hello", "hey", "hi there", "hello there",
    "good morning", "good afternoon", "good evening", "你好", "您好", "嗨", "帮助", "帮帮我", "早上好", "下午好", "晚上好",
];

/// That nothing of it is to happen.
pub(crate) const NO: &[&str] = &[
    "no", "nope", "nah", "dont", "do not", "no dont", "please dont", "no thanks", "no thank you",
    "never mind", "nevermind", "forget it", "forget about it", "forget that", "not now", "not yet", "wait no",
    "不", "不要", "不用", "不用了", "不要了", "不了", "算了", "别", "先不", "先不用", "没事", "没事了", "不必", "不必了",
];

pub(crate) const NEGATIONS: &[&str] = &[
    "dont", "do not", "never", "not", "no need", "shouldnt", "wont", "without", "neednt", "no", "doesnt",
    "不要", "别", "別", "不用", "不想", "不需要", "不必", "无需", "没必要", "不能", "不该", "不应该", "不", "没", "沒",
];

/// Verbs that a request to stop begins with.
pub(crate) const STOP: &[&str] = &[
    "stop", "cancel", "abort", "interrupt", "end", "quit", "finish", "terminate", "halt", "call off", "停止",
    "停下", "停下来", "停掉", "停一下", "停了", "停", "取消", "取消掉", "结束", "結束", "结束掉", "中断", "中斷", "终止", "終止", "打断", "中止",
    "叫停",
];

/// What may be stopped, and what may stand around it.
pub(crate) const STOPPED: &[&str] = &[
    "it", "this", "that", "the", "my", "a", "our", "focus", "timer", "pomodoro", "session", "period",
    "focusing", "timing", "counting", "countdown", "meditation", "meditating", "current", "running", "now",
    "please", "right", "immediately", "everything", "all", "thanks", "thank you", "for me", "early", "here",
    "at once", "for today", "these", "专注", "專注", "番茄钟", "番茄鐘", "番茄", "冥想", "计时", "計時", "倒计时", "倒計時", "计时器",
    "这个", "這個", "这次", "当前", "目前", "正在进行", "的", "吧", "了", "一下", "吗", "嗎", "掉", "它", "全部", "谢谢", "好吗", "时间",
    "现在", "本次", "今天", "啊", "呀", "來", "来",
];

/// Whole requests to stop.
pub(crate) const STOP_ALONE: &[&str] = &[
    "enough", "thats enough", "that is enough", "im done", "i am done", "we are done", "were done", "no more",
    "break it off", "到此为止", "不专注了", "不想专注了", "不冥想了", "不想冥想了", "不计时了", "别计时了", "别专注了", "不要计时了", "不要专注了", "不做了",
    "我不专注了", "我不想专注了", "够了",
];

/// What a denied stop is called.
pub(crate) const STOPPING: &[&str] = &[
    "stop", "stopping", "cancel", "cancelling", "canceling", "interrupt", "interrupting", "end", "ending",
    "quit", "finish", "abort", "停", "取消", "结束", "結束", "中断", "中斷", "终止", "終止", "打断",
];

/// What a denied start is called.
pub(crate) const STARTING: &[&str] = &[
    "start", "starting", "begin", "beginning", "focus", "focusing", "timer", "pomodoro", "meditate",
    "meditation", "concentrate", "countdown", "开始", "開始", "启动", "啟動", "专注", "專注", "番茄", "冥想", "计时", "計時",
    "倒计时",
];

/// Verbs that a request to start begins with.
pub(crate) const START: &[&str] = &[
    "start", "begin", "launch", "kick off", "run", "set", "set up", "time", "count", "count down", "go for",
];

/// Verbs and nouns that are a request by themselves.
pub(crate) const FOCUSING: &[&str] = &[
    "focus", "concentrate", "meditate", "study", "work", "pomodoro", "timer",
];

/// What a request for a focus period of a given length may begin with as well.
pub(crate) const GIVE: &[&str] = &[
    "give", "do", "make", "a", "an", "one", "another", "new", "have", "get", "take", "try",
];

/// Whole requests to start.
pub(crate) const START_ALONE: &[&str] = &[
    "start", "begin", "start now", "start please", "begin now", "start it", "开始", "開始", "开始吧", "開始吧",
];

/// What a focus period is called.
pub(crate) const FOCUS: &[&str] = &[
    "focus", "focusing", "focused", "pomodoro", "concentrate", "concentration", "meditate", "meditation",
    "meditating", "timer", "countdown", "专注", "專注", "番茄", "冥想", "计时", "計時", "倒计时", "倒計時", "静坐", "打坐",
];

/// As [`FOCUS`], in the words that mean nothing else.
pub(crate) const STRONG_FOCUS: &[&str] = &[
    "focus", "pomodoro", "专注", "專注", "番茄钟", "番茄鐘", "番茄", "冥想", "计时", "計時", "静坐", "打坐", "集中精力", "集中注意力",
];

/// What people also do without wanting it timed.
pub(crate) const WEAK_FOCUS: &[&str] = &[
    "学习", "學習", "读书", "看书", "工作", "写作业", "集中", "专心",
];

/// Chinese verbs of starting.
pub(crate) const BEGIN: &[&str] = &[
    "开始", "開始", "开启", "開啟", "启动", "啟動", "来一个", "来个", "來個", "来一段", "来一次", "再来", "设置", "设定", "设个", "设一个", "定个",
    "定一个", "做一个", "做个", "进入", "安排",
];

/// Chinese words of wanting.
pub(crate) const WANT: &[&str] = &[
    "帮我", "幫我", "给我", "給我", "替我", "请", "請", "我要", "我想", "想要", "让我", "我们", "咱们", "来", "來",
];

/// Chinese clauses that speak of a focus period and ask for none.
pub(crate) const NOT_A_REQUEST: &[&str] = &[
    "为什么", "為什麼", "怎么", "怎麼", "什么时候", "了吗", "了没", "专注了", "專注了", "冥想了", "学习了", "工作了", "读了", "开始了", "计时了",
    "有没有", "是不是", "昨天", "刚才", "刚刚", "已经", "多少", "每天", "如果",
];

/// What may stand around a length that answers a question.
pub(crate) const AROUND_A_LENGTH: &[&str] = &[
    "for", "about", "please", "maybe", "lets say", "say", "make it", "ok", "okay", "then", "thanks", "就", "请",
    "那", "那就", "吧", "好了", "好", "谢谢", "大概", "左右",
];
