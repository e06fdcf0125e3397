//! lineup-pomodoro
