mod normalise;
mod parse;
mod validator;
