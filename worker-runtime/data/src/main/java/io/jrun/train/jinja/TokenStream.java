package io.jrun.train.jinja;

import java.util.List;
import java.util.Set;

/** The tokens of a template, read one after the other. */
final class TokenStream {
    private final List<Token> tokens;
    private int at;

    TokenStream(List<Token> tokens) {
        this.tokens = tokens;
    }

    Token peek() {
        return tokens.get(at);
    }

    /** The token after the next one. */
    Token peekSecond() {
        return tokens.get(Math.min(at + 1, tokens.size() - 1));
    }

    Token next() {
        Token token = tokens.get(at);
        if (token.kind() != Token.Kind.END) {
            at++;
        }
        return token;
    }

    boolean isOperator(String text) {
        return peek().is(Token.Kind.OPERATOR, text);
    }

    boolean isName(String text) {
        return peek().is(Token.Kind.NAME, text);
    }

    /** Whether the next tokens begin a block with one of some words. */
    boolean isBlock(Set<String> words) {
        return peek().kind() == Token.Kind.BLOCK
                && peekSecond().kind() == Token.Kind.NAME
                && words.contains(peekSecond().text());
    }

    /** Takes an operator, if it is the next token. */
    boolean takeOperator(String text) {
        boolean isNext = isOperator(text);
        if (isNext) {
            next();
        }
        return isNext;
    }

    /** Takes a name, if it is the next token. */
    boolean takeName(String text) {
        boolean isNext = isName(text);
        if (isNext) {
            next();
        }
        return isNext;
    }

    /** Takes an operator that must be there. */
    void require(String operator) {
        if (!takeOperator(operator)) {
            throw unexpected("'" + operator + "'");
        }
    }

    /** Takes a token of a kind that must be there. */
    Token require(Token.Kind kind, String words) {
        if (peek().kind() != kind) {
            throw unexpected(words);
        }
        return next();
    }

    TemplateException unexpected(String wanted) {
        Token found = peek();
        String words = found.kind() == Token.Kind.CLOSE || found.kind() == Token.Kind.END
                ? found.text()
                : "'" + found.text().lines().findFirst().orElse("") + "'";
        return new TemplateException(found.line(), "found " + words + ", expected " + wanted);
    }
}
