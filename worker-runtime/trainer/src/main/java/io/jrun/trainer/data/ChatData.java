package io.jrun.trainer.data;

import io.jrun.comm.World;
import io.jrun.train.chat.ChatEncoder;
import io.jrun.train.chat.ChatTemplate;
import io.jrun.train.chat.EncodedChat;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataException;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.Tokenizers;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Conversations of {@code --chat}. A sample is one conversation, or with {@code --pack} as many as fit. The loss counts
 * the tokens of the answers. In a sample with several conversations a token sees the conversations before its own.
 */
public final class ChatData implements TrainingData<ChatWindow> {
    private static final double HELD_OUT = 0.1;

    private final Path path;
    private final Tokenizer tokenizer;
    private final int context;
    private final List<ChatWindow> training;
    private final List<ChatWindow> heldOut;
    private final String identity;
    private final String summary;

    private ChatData(
            Path path,
            Tokenizer tokenizer,
            int context,
            List<ChatWindow> training,
            List<ChatWindow> heldOut,
            String identity,
            String summary) {
        this.path = path;
        this.tokenizer = tokenizer;
        this.context = context;
        this.training = training;
        this.heldOut = heldOut;
        this.identity = identity;
        this.summary = summary;
    }

    /**
     * Reads the conversations. Collective over the world.
     *
     * @param options with {@link DataOptions#chat}
     * @param context tokens of a sample; a longer conversation is cut
     * @throws DataException on all ranks of a node, in one line, if the data are unusable
     */
    public static ChatData open(DataOptions options, int context, World world) {
        ChatOptions how = options.chat()
                .orElseThrow(() -> new IllegalArgumentException("the options have no conversations: give --chat"));
        Path path = options.data()
                .orElseThrow(() -> new InvalidArgumentException("--chat needs --data=PATH, a file of JSON Lines"));
        Tokenizer tokenizer = TokenCorpus.tokenizer(options);
        try {
            ChatEncoder encoder = new ChatEncoder(
                    template(options, LocalDateTime.now(ZoneId.systemDefault())),
                    tokenizer,
                    how.learns() == ChatOptions.Learned.ALL);
            ChatFile file = ChatFile.read(path, options.maxBytes(), encoder, world);
            Optional<ChatFile> evaluation =
                    options.evaluation().map(other -> ChatFile.read(other, Long.MAX_VALUE, encoder, world));
            List<EncodedChat> all = file.chats();
            int held = evaluation.isPresent() ? 0 : heldOut(all.size(), options);
            List<EncodedChat> trained = all.subList(0, all.size() - held);
            List<ChatWindow> training = windows(trained, context, how);
            if (training.isEmpty()) {
                throw new DataException(path + " has no answer in the first " + (context + 1)
                        + " tokens of a conversation. Give a larger --context, or --train-on=all.");
            }
            return new ChatData(
                    path,
                    tokenizer,
                    context,
                    training,
                    windows(
                            evaluation.map(ChatFile::chats).orElse(all.subList(all.size() - held, all.size())),
                            context,
                            how),
                    file.identity() + ", " + how.learns().name().toLowerCase(Locale.ROOT)
                            + (how.isPacked() ? ", packed" : ""),
                    summary(trained, training, context, how));
        } catch (DataException | InvalidArgumentException e) {
            tokenizer.close();
            throw e;
        }
    }

    /**
     * The chat template that the options name, else the one of the model or beside the tokenizer.
     *
     * @throws DataException in one line, if there is none
     */
    public static ChatTemplate template(DataOptions options, LocalDateTime now) {
        Path tokenizer = Tokenizers.fileOf(Path.of(options.tokenizer().orElse(".")));
        Path folder = options.chat()
                .flatMap(ChatOptions::folder)
                .orElseGet(() -> tokenizer.toAbsolutePath().resolveSibling(""));
        return ChatTemplate.open(folder, options.chat().flatMap(ChatOptions::template), now);
    }

    private static int heldOut(int count, DataOptions options) {
        return options.heldOut().isPresent()
                ? (int) (count * options.heldOut().getAsDouble())
                : Math.min(count - 1, Math.max(1, (int) (count * HELD_OUT)));
    }

    private static List<ChatWindow> windows(List<EncodedChat> chats, int context, ChatOptions how) {
        return how.isPacked() ? ChatWindow.packed(chats, context) : ChatWindow.single(chats, context);
    }

    private static String summary(List<EncodedChat> chats, List<ChatWindow> windows, int context, ChatOptions how) {
        long cut = chats.stream().filter(chat -> chat.length() > context + 1).count();
        long targets = windows.stream().mapToLong(ChatWindow::targetCount).sum();
        return chats.size() + " conversations in " + windows.size() + " samples with " + targets + " tokens to learn"
                + (cut == 0 ? "" : " (" + cut + " longer than --context=" + context + " are cut)")
                + (how.isPacked() ? ", packed" : "");
    }

    @Override
    public Dataset<ChatWindow> training() {
        return dataset(training);
    }

    @Override
    public Dataset<ChatWindow> heldOut() {
        return dataset(heldOut);
    }

    private static Dataset<ChatWindow> dataset(List<ChatWindow> windows) {
        return new Dataset<>() {
            @Override
            public long size() {
                return windows.size();
            }

            @Override
            public ChatWindow get(long index) {
                return windows.get(Math.toIntExact(index));
            }
        };
    }

    @Override
    public Batch batch(List<ChatWindow> samples, long step) {
        return ChatWindow.batch(samples);
    }

    @Override
    public long targets(ChatWindow sample) {
        return sample.targetCount();
    }

    @Override
    public boolean hasUnequalSamples() {
        return true;
    }

    @Override
    public int vocabulary() {
        return tokenizer.vocabulary();
    }

    @Override
    public int length() {
        return context;
    }

    @Override
    public String unit() {
        return "token";
    }

    @Override
    public String identity() {
        return identity;
    }

    @Override
    public String summary() {
        return summary;
    }

    @Override
    public Optional<Tokenizer> tokenizer() {
        return Optional.of(tokenizer);
    }

    @Override
    public void close() {
        tokenizer.close();
    }

    /** The path of --data. */
    @Override
    public String toString() {
        return path.toString();
    }
}
