package io.jrun.trainer.data;

import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The options of conversations.
 *
 * @param template a file with the chat template; empty for the one of the folder
 * @param folder of the model; empty for that of the tokenizer
 * @param learns the tokens that the model learns to predict
 * @param isPacked whether a sample has several conversations, as many as fit
 */
public record ChatOptions(Optional<Path> template, Optional<Path> folder, Learned learns, boolean isPacked) {
    static final List<String> VALUED = List.of("--chat-template", "--train-on");
    static final List<String> FLAGS = List.of("--chat", "--pack");

    /** The tokens that the model learns to predict. */
    public enum Learned {
        /** The tokens of the messages of the role assistant. */
        ANSWERS,
        /** All but the first. */
        ALL
    }

    static Optional<ChatOptions> of(CommandLineArguments given) {
        for (String option : List.of("--chat-template", "--train-on", "--pack")) {
            if (given.has(option) && !given.has("--chat")) {
                throw new InvalidArgumentException(option + " is for conversations: give --chat too");
            }
        }
        return given.has("--chat")
                ? Optional.of(new ChatOptions(
                        given.text("--chat-template").map(Path::of),
                        Optional.empty(),
                        given.word("--train-on", Learned.ANSWERS),
                        given.has("--pack")))
                : Optional.empty();
    }

    /** The same with the folder of a model. */
    ChatOptions withFolder(Path newFolder) {
        return new ChatOptions(template, Optional.of(newFolder), learns, isPacked);
    }
}
