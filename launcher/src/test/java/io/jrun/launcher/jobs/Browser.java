package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.Level;
import org.openqa.selenium.By;
import org.openqa.selenium.Dimension;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;

/** Debian's Chromium without a window. */
final class Browser implements AutoCloseable {
    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    /** Whether this machine has the browser and its driver. */
    static boolean isPresent() {
        return Files.isExecutable(CHROMIUM) && Files.isExecutable(DRIVER);
    }

    /** Starts a browser of its own profile, with a window of this size. */
    static Browser start(int width, int height) {
        java.util.logging.Logger.getLogger("org.openqa.selenium").setLevel(Level.OFF);
        ChromeOptions options = new ChromeOptions();
        options.setBinary(CHROMIUM.toString());
        options.addArguments(
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--window-size=" + width + "," + height);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .build();
        return new Browser(new ChromeDriver(service, options));
    }

    void open(String url) {
        driver.get(url);
    }

    void resize(int width, int height) {
        driver.manage().window().setSize(new Dimension(width, height));
    }

    /** The text of the first element that a selector of CSS finds; empty if there is none, or it is hidden. */
    String text(String selector) {
        try {
            List<WebElement> found = driver.findElements(By.cssSelector(selector));
            return found.isEmpty() ? "" : found.getFirst().getText();
        } catch (StaleElementReferenceException e) {
            return ""; // the page has replaced the element
        }
    }

    /** Waits until the text of an element has {@code words}. */
    void await(String selector, String words) {
        JRun.waitFor(() -> text(selector).contains(words), "'" + words + "' in " + selector + " of the page");
    }

    /** Clicks an element in the middle of the window, where the bar at the top does not cover it. */
    void click(String selector) {
        WebElement element = driver.findElement(By.cssSelector(selector));
        driver.executeScript("arguments[0].scrollIntoView({block: 'center'})", element);
        element.click();
    }

    void type(String selector, CharSequence text) {
        WebElement field = driver.findElement(By.cssSelector(selector));
        field.clear();
        field.sendKeys(text);
    }

    /** Chooses a value of a list. */
    void choose(String selector, String value) {
        click(selector + " option[value='" + value + "']");
    }

    /** The text that a JavaScript expression yields. */
    String value(String expression) {
        return String.valueOf(driver.executeScript("return " + expression));
    }

    /** The whole number that a JavaScript expression yields. */
    long number(String expression) {
        return Long.parseLong(value(expression));
    }

    /** Fails if the page has printed an error, or has asked for something that does not exist. */
    void assertNoErrors() {
        assertThat(driver.manage().logs().get("browser").getAll())
                .filteredOn(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .as("errors of the page")
                .isEmpty();
    }

    /** Writes what the window shows into a file. */
    void writePicture(Path file) throws IOException {
        Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
    }

    @Override
    public void close() {
        driver.quit();
    }
}
