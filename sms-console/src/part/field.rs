//! A field of a form: its label, its control, a hint, and what is wrong with it.

use std::borrow::Cow;

use maud::{Markup, Render, html};

/// An option of a choice.
#[derive(Debug, Clone)]
struct Choosable<'a> {
    value: Cow<'a, str>,
    label: Cow<'a, str>,
}

#[derive(Debug, Clone)]
enum Control<'a> {
    /// An input of this type.
    Input(&'static str),
    /// A text of several lines.
    TextArea(u8),
    Select(Vec<Choosable<'a>>),
    Check,
}

/// A field of a form: label, control, hint and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    name: &'a str,
    label: Cow<'a, str>,
    control: Control<'a>,
    id: Cow<'a, str>,
    value: Cow<'a, str>,
    hint: Option<Markup>,
    trouble: Option<Cow<'a, str>>,
    class: &'a str,
    set: Set,
    longest: Option<usize>,
    step: Option<&'a str>,
    placeholder: Option<&'a str>,
    autocomplete: &'a str,
}

/// What is switched on.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
struct Set {
    required: bool,
    optional: bool,
    hidden_label: bool,
    disabled: bool,
    focused: bool,
    checked: bool,
}

impl<'a> Field<'a> {
    fn new(name: &'a str, label: impl Into<Cow<'a, str>>, control: Control<'a>) -> Self {
        Self {
            name,
            label: label.into(),
            control,
            id: Cow::Borrowed(name),
            value: Cow::Borrowed(""),
            hint: None,
            trouble: None,
            class: "",
            set: Set::default(),
            longest: None,
            step: None,
            placeholder: None,
            autocomplete: "off",
        }
    }

    /// One line of text.
    pub fn text(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Input("text"))
    }

    /// One line of this type of input, such as `date` or `number`.
    pub fn input(name: &'a str, label: impl Into<Cow<'a, str>>, kind: &'static str) -> Self {
        Self::new(name, label, Control::Input(kind))
    }

    /// A phone number: phones show the keys for one.
    pub fn tel(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Input("tel"))
    }

    /// What a list is searched for.
    pub fn search(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Input("search"))
    }

    /// A secret, which is hidden while it is typed.
    pub fn password(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Input("password"))
    }

    /// A date and time, as clocks in London show it.
    pub fn moment(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Input("datetime-local"))
    }

    /// A text of several lines.
    pub fn text_area(name: &'a str, label: impl Into<Cow<'a, str>>, rows: u8) -> Self {
        Self::new(name, label, Control::TextArea(rows))
    }

    /// One of several: pairs of value and label.
    pub fn select<V, L>(
        name: &'a str,
        label: impl Into<Cow<'a, str>>,
        options: impl IntoIterator<Item = (V, L)>,
    ) -> Self
    where
        V: Into<Cow<'a, str>>,
        L: Into<Cow<'a, str>>,
    {
        let options = options.into_iter();
        let options = options
            .map(|(value, label)| Choosable { value: value.into(), label: label.into() })
            .collect();
        Self::new(name, label, Control::Select(options))
    }

    /// A box to tick.
    pub fn check(name: &'a str, label: impl Into<Cow<'a, str>>) -> Self {
        Self::new(name, label, Control::Check)
    }

    /// What is in it. A box to tick sends this.
    #[must_use]
    pub fn value(mut self, value: impl Into<Cow<'a, str>>) -> Self {
        self.value = value.into();
        self
    }

    /// Another id than its name, where two forms of a page have a field of the same name.
    #[must_use]
    pub fn id(mut self, id: impl Into<Cow<'a, str>>) -> Self {
        self.id = id.into();
        self
    }

    /// What helps to fill it in.
    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(html! { (hint) });
        self
    }

    /// What is wrong with it.
    #[must_use]
    pub fn trouble<T: Into<Cow<'a, str>>>(mut self, trouble: Option<T>) -> Self {
        self.trouble = trouble.map(Into::into);
        self
    }

    /// A class of its place, such as `field-grow`.
    #[must_use]
    pub fn class(mut self, class: &'a str) -> Self {
        self.class = class;
        self
    }

    /// The most characters that can be typed.
    #[must_use]
    pub fn longest(mut self, characters: usize) -> Self {
        self.longest = Some(characters);
        self
    }

    /// The step of a number.
    #[must_use]
    pub fn step(mut self, step: &'a str) -> Self {
        self.step = Some(step);
        self
    }

    /// What stands in it while it is empty, where its label is hidden.
    #[must_use]
    pub fn placeholder(mut self, placeholder: &'a str) -> Self {
        self.placeholder = Some(placeholder);
        self
    }

    /// It must be filled in.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.set.required = true;
        self
    }

    /// Says beside the label that it may stay empty.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.set.optional = true;
        self
    }

    /// Only a screen reader says its label.
    #[must_use]
    pub fn hide_label(mut self) -> Self {
        self.set.hidden_label = true;
        self
    }

    /// It cannot be changed.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.set.disabled = true;
        self
    }

    /// It has the focus at first.
    #[must_use]
    pub fn focused(mut self) -> Self {
        self.set.focused = true;
        self
    }

    /// The box is ticked if this is so.
    #[must_use]
    pub fn ticked_if(mut self, is_so: bool) -> Self {
        self.set.checked = is_so;
        self
    }

    fn control(&self) -> Markup {
        let Self { name, id, value, set, longest, step, placeholder, autocomplete, .. } = self;
        let Set { required, disabled, focused, checked, .. } = *set;
        let hinted = self.hint.as_ref().map(|_| format!("{id}-hint"));
        let troubled = self.trouble.as_ref().map(|_| format!("{id}-problem"));
        let by: Vec<String> = hinted.into_iter().chain(troubled).collect();
        let described = (!by.is_empty()).then(|| by.join(" "));
        let invalid = self.trouble.as_ref().map(|_| "true");
        match &self.control {
            Control::Input(kind) => html! {
                input.input type=(kind) id=(id) name=(name) value=(value) required[required]
                    disabled[disabled] autofocus[focused] maxlength=[longest] step=[step]
                    placeholder=[placeholder] autocomplete=(autocomplete)
                    aria-invalid=[invalid] aria-describedby=[described];
            },
            // A line end right after the tag is no part of the text.
            Control::TextArea(rows) => html! {
                textarea.input id=(id) name=(name) rows=(rows) required[required]
                    disabled[disabled] autofocus[focused] maxlength=[longest] spellcheck="true"
                    autocomplete=(autocomplete) aria-invalid=[invalid]
                    aria-describedby=[described] { "\n" (value) }
            },
            Control::Select(options) => html! {
                select.input id=(id) name=(name) required[required] disabled[disabled]
                    autofocus[focused] autocomplete=(autocomplete) aria-invalid=[invalid]
                    aria-describedby=[described] {
                    @for option in options {
                        option value=(option.value) selected[option.value == *value] {
                            (option.label)
                        }
                    }
                }
            },
            Control::Check => html! {
                input type="checkbox" id=(id) name=(name)
                    value=[Some(value).filter(|value| !value.is_empty())] checked[checked]
                    required[required] disabled[disabled] autofocus[focused]
                    aria-invalid=[invalid] aria-describedby=[described];
            },
        }
    }
}

impl Render for Field<'_> {
    fn render(&self) -> Markup {
        let Self { id, label, hint, trouble, class, set, .. } = self;
        let labelled = html! {
            label for=(id) class=[set.hidden_label.then_some("unseen")] {
                (label)
                @if set.optional { span.faint { " (optional)" } }
            }
        };
        let hint = html! {
            @if let Some(hint) = hint { p.hint id={ (id) "-hint" } { (hint) } }
        };
        let trouble = html! {
            @if let Some(trouble) = trouble { p.problem id={ (id) "-problem" } { (trouble) } }
        };
        let class = if class.is_empty() { "field".to_owned() } else { format!("field {class}") };
        match self.control {
            Control::Check => html! {
                div class=(class) {
                    div.check { (self.control()) (labelled) }
                    (hint) (trouble)
                }
            },
            Control::Input(_) | Control::TextArea(_) | Control::Select(_) => html! {
                div class=(class) { (labelled) (hint) (self.control()) (trouble) }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_beside_its_field_and_read_out_with_it() {
        let shown =
            Field::text("name", "Name").value("a<b").hint("Any").trouble(Some("Too short."));
        let shown = shown.render().into_string();
        assert!(shown.contains("<label for=\"name\">Name</label>"), "{shown}");
        assert!(shown.contains("value=\"a&lt;b\""), "{shown}");
        assert!(shown.contains("aria-invalid=\"true\""), "{shown}");
        assert!(shown.contains("aria-describedby=\"name-hint name-problem\""), "{shown}");
        assert!(shown.contains("<p class=\"problem\" id=\"name-problem\">Too short.</p>"));
    }

    #[test]
    fn a_choice_shows_the_chosen_option() {
        let field = Field::select("status", "State", [("", "Any"), ("sent", "Sent")]).value("sent");
        let shown = field.render().into_string();
        assert!(shown.contains("<option value=\"sent\" selected>Sent</option>"), "{shown}");
        assert!(shown.contains("<option value=\"\">Any</option>"), "{shown}");
    }
}
