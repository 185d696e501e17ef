package io.jrun.agent.image.pull;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.container.ContainerException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProxySettingsTest {
    @ParameterizedTest
    @CsvSource({
        "http://me:secret@proxy:3128, has a password for the proxy",
        "me:secret@proxy:3128, has a password for the proxy",
        "socks5://proxy:1080, is not the address of an HTTP proxy",
        "http://pro xy, is not the address of an HTTP proxy",
        "http://, is not the address of an HTTP proxy",
    })
    void anImpossibleProxyIsRefusedWithoutItsPassword(String proxy, String words) {
        assertThatThrownBy(() -> ProxySettings.apply(Map.of("HTTPS_PROXY", proxy)))
                .isInstanceOf(ContainerException.class)
                .hasMessageContaining("https_proxy")
                .hasMessageContaining(words)
                .hasMessageNotContaining("secret");
    }
}
