package io.jrun.trainer.data;

import io.jrun.comm.Device;
import io.jrun.train.chat.EncodedChat;
import io.jrun.train.data.Batch;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.tensor.DeviceTensors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A sample of conversations: S inputs and S targets. The target of a token that does not count, and of the rest of a
 * window that is not full, is {@link TokenLoss#IGNORED}.
 */
public final class ChatWindow {
    /** The token at the end of a window that is not full. No token before it sees it. */
    private static final long FILL = 0;

    private final long[] inputs;
    private final long[] targets;
    private final long targetCount;

    private ChatWindow(long[] inputs, long[] targets, long targetCount) {
        this.inputs = inputs;
        this.targets = targets;
        this.targetCount = targetCount;
    }

    /** The targets that count. */
    long targetCount() {
        return targetCount;
    }

    /** A window of conversations, one behind the other; the tokens behind the last place are cut. */
    private static ChatWindow of(List<EncodedChat> chats, int length) {
        long[] inputs = new long[length];
        long[] targets = new long[length];
        Arrays.fill(inputs, FILL);
        Arrays.fill(targets, TokenLoss.IGNORED);
        int at = 0;
        long count = 0;
        for (EncodedChat chat : chats) {
            for (int i = 0; i < chat.length() && at <= length; i++) {
                if (at < length) {
                    inputs[at] = chat.token(i);
                }
                if (i > 0 && chat.isLearned(i)) {
                    targets[at - 1] = chat.token(i);
                    count++;
                }
                at++;
            }
        }
        return new ChatWindow(inputs, targets, count);
    }

    /** A window for each conversation; those without a target that counts are left out. */
    static List<ChatWindow> single(List<EncodedChat> chats, int length) {
        return chats.stream()
                .map(chat -> of(List.of(chat), length))
                .filter(window -> window.targetCount > 0)
                .toList();
    }

    /** Windows of as many conversations as fit, in order. */
    static List<ChatWindow> packed(List<EncodedChat> chats, int length) {
        List<ChatWindow> windows = new ArrayList<>();
        List<EncodedChat> open = new ArrayList<>();
        int used = 0;
        for (EncodedChat chat : chats) {
            if (!open.isEmpty() && used + chat.length() > length + 1) {
                windows.add(of(open, length));
                open.clear();
                used = 0;
            }
            open.add(chat);
            used += chat.length();
        }
        if (!open.isEmpty()) {
            windows.add(of(open, length));
        }
        windows.removeIf(window -> window.targetCount == 0);
        return windows;
    }

    /** The batch of windows; made in the PointerScope of the caller. */
    static Batch batch(List<ChatWindow> windows) {
        int length = windows.getFirst().inputs.length;
        long[] inputs = new long[windows.size() * length];
        long[] targets = new long[inputs.length];
        for (int i = 0; i < windows.size(); i++) {
            System.arraycopy(windows.get(i).inputs, 0, inputs, i * length, length);
            System.arraycopy(windows.get(i).targets, 0, targets, i * length, length);
        }
        return new Batch(
                DeviceTensors.of(Device.CPU, inputs, windows.size(), length),
                DeviceTensors.of(Device.CPU, targets, windows.size(), length));
    }
}
