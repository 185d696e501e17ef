package io.jrun.train.chat;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.data.DataException;
import io.jrun.train.jinja.Template;
import io.jrun.train.jinja.TemplateException;
import io.jrun.train.json.JsonReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The chat template of a model: the text of a conversation, with the tokens between the messages. The template is {@code
 * chat_template.jinja}, or {@code chat_template} of {@code tokenizer_config.json}. Immutable and thread-safe.
 */
public final class ChatTemplate {
    private static final int MAX_BYTES = 16 << 20;
    private static final String CONFIG = "tokenizer_config.json";
    private static final String FILE = "chat_template.jinja";
    private static final List<String> TOKENS =
            List.of("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token");

    private final String source;
    private final Template template;
    private final Map<String, Object> tokens;
    private final LocalDateTime now;

    private ChatTemplate(String source, Template template, Map<String, Object> tokens, LocalDateTime now) {
        this.source = source;
        this.template = template;
        this.tokens = tokens;
        this.now = now;
    }

    /**
     * Opens the template of a model.
     *
     * @param folder has the files of the tokenizer
     * @param given a template in a file of its own; empty for that of the folder
     * @param now the time of a template that writes the date
     * @throws DataException in one line, if there is no template, or if it cannot be read
     */
    public static ChatTemplate open(Path folder, Optional<Path> given, LocalDateTime now) {
        Path config = folder.resolve(CONFIG);
        Map<String, @Nullable Object> members = Files.exists(config) ? members(config) : Map.of();
        Map<String, Object> tokens = new LinkedHashMap<>();
        TOKENS.forEach(name -> token(members.get(name)).ifPresent(text -> tokens.put(name, text)));
        Path file = given.orElse(folder.resolve(FILE));
        boolean isFile = given.isPresent() || Files.exists(file);
        String source = isFile ? file.toString() : config + ", chat_template";
        String text = isFile ? text(file) : ofConfig(members.get("chat_template"), config);
        try {
            return new ChatTemplate(source, Template.parse(text), tokens, now);
        } catch (TemplateException e) {
            throw new DataException(source + ": " + e.getMessage(), e);
        }
    }

    private static String text(Path file) {
        try {
            return UserFile.text(file, MAX_BYTES);
        } catch (IOException e) {
            throw new DataException("cannot read " + file + ": " + FileError.reason(e, file), e);
        }
    }

    private static Map<String, @Nullable Object> members(Path config) {
        try {
            return JsonReader.readObject(text(config));
        } catch (IllegalArgumentException e) {
            throw new DataException(config + ", " + e.getMessage(), e);
        }
    }

    /** A token is a text, or an object with its text. */
    private static Optional<String> token(@Nullable Object value) {
        Object text = value instanceof Map<?, ?> object ? object.get("content") : value;
        return text instanceof String found ? Optional.of(found) : Optional.empty();
    }

    /** A template, or a list of named templates with one named default. */
    private static String ofConfig(@Nullable Object value, Path config) {
        if (value instanceof String text) {
            return text;
        }
        if (value instanceof List<?> all) {
            for (Object each : all) {
                if (each instanceof Map<?, ?> named
                        && "default".equals(named.get("name"))
                        && named.get("template") instanceof String text) {
                    return text;
                }
            }
        }
        throw new DataException(config + " has no chat_template, and there is no " + FILE
                + " beside it: this model was not made for conversations. Give --chat-template=FILE.");
    }

    /**
     * The text of a conversation.
     *
     * @param messages each with {@code role} and {@code content}
     * @param others further variables of the template, such as {@code tools}
     * @param asksForAnswer whether the text ends with the begin of an answer
     * @throws IllegalArgumentException in one line, if the template refuses the messages
     */
    public String render(List<?> messages, Map<String, ? extends @Nullable Object> others, boolean asksForAnswer) {
        Map<String, @Nullable Object> variables = new LinkedHashMap<>(tokens);
        variables.putAll(others);
        variables.put("messages", messages);
        variables.put("add_generation_prompt", asksForAnswer);
        try {
            return template.render(variables, now);
        } catch (TemplateException e) {
            throw new IllegalArgumentException(source + ": " + e.getMessage(), e);
        }
    }
}
