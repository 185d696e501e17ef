package io.jrun.tokenizers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.data.DataException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExpressionCheckTest {
    @TempDir
    private Path folder;

    /** The expressions of GPT-2, Llama 3, GPT-4o, CLIP, BLOOM and DeepSeek. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
                "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                        + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
                "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                        + "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
                "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+",
                " ?[^(\\s|[.,!?\u2026])]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+",
                " {2,}|\\d{1,3}(?=(?:\\d{3})*\\b)"
            })
    void expressionsOfPublishedModelsAreAccepted(String expression) {
        assertThat(ExpressionCheck.mayBeExponential(expression)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "(a+)+$",
                "(a*)*b",
                "(?:a|a)*b",
                "((a|b)c)+",
                "(x+x+){3,}y",
                "([a-z]+){1,100}!",
                "(\\p{L}+ ?)++$",
                "(?:(?:a{2,})b?)*",
                "[(]+([)]+)+"
            })
    void repeatedGroupsWithARepetitionOrAChoiceAreFound(String expression) {
        assertThat(ExpressionCheck.mayBeExponential(expression)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"(", ")", "a)", "[", "[]", "a{", "\\", "\\p{", "(?", "*", "", "((("})
    void malformedExpressionsAreNoErrorHere(String expression) {
        assertThat(ExpressionCheck.mayBeExponential(expression)).isFalse();
    }

    /** The native library would end the process at the first text. */
    @Test
    void aTokenizerWithSuchAnExpressionIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("tokenizer.json"), """
                {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
                 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split",
                  "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": false}]},
                 "post_processor": null, "decoder": null,
                 "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}}""");
        assertThatThrownBy(() -> new HuggingFaceProvider().open(file))
                .isInstanceOf(DataException.class)
                .hasMessage(file + " has the expression '(a+)+$', whose time may grow exponentially with the text");
    }
}
